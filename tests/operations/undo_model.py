"""Undo, told in the plainest way: whatever a ticket's latest change replaced is put back."""

from dawr.operations.undo import Undo, UndoLeave
from tests.operations.desk_model import DeskModel
from tests.operations.line_model import No, Plain, Row, line_of
from tests.operations.visit_model import LEAVING_MS


class UndoModel(DeskModel):
    def undo(self, operation: Undo) -> Plain:
        ticket = self._ticket(operation.ticket_id)
        if ticket["version"] != operation.version:
            raise No("changed-since")
        replaced = self.replaced[operation.ticket_id]
        if replaced is None or ticket["state"] == "expired":
            raise No("cannot-undo")
        if self.now - replaced["at"] > operation.within_minutes * 60_000:
            raise No("undo-too-late")
        was_at = ticket["desk_id"]
        self._take_back(ticket, replaced)
        if was_at is not None and ticket["desk_id"] is None:
            self._call_after(was_at)
        if replaced["verb"] == "miss" and ticket["desk_id"] is not None:
            self._did_not_miss(ticket["desk_id"])
        if ticket["state"] in {"called", "held"}:
            self._set_timers(ticket, {"called": "call", "held": "hold"}[ticket["state"]])
        return ticket

    def undo_leave(self, operation: UndoLeave) -> Plain:
        """By whoever left by their link, within ten seconds; of a visit that stood nowhere, the visit alone."""
        visit = self._behind(operation.link)
        if visit["state"] != "left" or visit["left"] is None:
            raise No("cannot-undo")
        if self.now - visit["left_at"] > LEAVING_MS:
            raise No("undo-too-late")
        ticket = self.tickets.get(visit["ticket_id"] or "")
        if ticket is not None and ticket["version"] == visit["changed_by"]:
            replaced = self.replaced[ticket["ticket_id"]]
            assert replaced is not None
            self._return(ticket, replaced)
        else:
            self._come_back(visit)
        return self._whereabouts(visit)

    def _return(self, ticket: Row, replaced: Row) -> None:
        """With what was left of their time. If the desk has called somebody else since, they wait where they stood."""
        others = self.others_there(replaced["ticket"], since=ticket["left_at"])
        self._take_back(ticket, replaced)
        if others:
            self._verb(ticket, "hold", desk_id=None)
            self._verb(ticket, "resume")
            return
        queue, ticket_id = self.queues[ticket["queue_id"]], ticket["ticket_id"]
        began = max(ticket["called_at"] or 0, ticket["recalled_at"] or 0)
        if ticket["state"] == "called" and queue["miss_after"] and self.alarms.get(("miss", ticket_id), 0) is None:
            self._alarm("miss", ticket_id, began + queue["miss_after"] * 1000)
        if ticket["state"] == "held" and queue["hold_limit"] and self.alarms.get(("hold", ticket_id), 0) is None:
            self._alarm("hold", ticket_id, ticket["held_at"] + queue["hold_limit"] * 1000)

    def others_there(self, ticket: Row, *, since: int) -> list[Row]:
        """Whom the desk that called this one has called since then."""
        if ticket["state"] != "called" or ticket["desk_id"] is None:
            return []
        there = [t for t in self.tickets.values() if t["desk_id"] == ticket["desk_id"] and t["called_at"] >= since]
        return [t for t in there if t["state"] in {"called", "serving"} and t["ticket_id"] != ticket["ticket_id"]]

    def _come_back(self, visit: Row) -> None:
        if (self._planned(visit["visitor"]) or visit) is not visit:
            raise No("place-taken")
        if self._is_over(visit):
            raise No("visit-in-wrong-state")
        visit.update(visit["left"] | {"left": None, "changed_by": None})
        self._alarm("enter", visit["visit_id"], self.now)
        self._tell("visit.returned", visit)

    def _take_back(self, ticket: Row, replaced: Row) -> None:
        before, ticket_id = replaced["ticket"], ticket["ticket_id"]
        if self._has_ended(before):
            raise No("line-ended")
        if before["open_key"] != ticket["open_key"] and self._open(before["open_key"]) is not None:
            raise No("place-taken")
        comes_back = self._put_visit_back(ticket, replaced)
        self._put_line_back(ticket, replaced)
        ticket.update(before)
        self.seat_of[ticket_id] = replaced["seat"]
        self.replaced[ticket_id] = None
        more = {"visit": ticket["visit_id"]} if comes_back else {}
        self._happened("ticket.undone", ticket["queue_id"], ticket_id, **more)
        ticket["version"] = len(self.events)

    def _put_visit_back(self, ticket: Row, replaced: Row) -> bool:
        """As it was, if nothing else has changed it since. What it went on to is given up, if it still waits."""
        before = replaced["visit"]
        if before is None:
            return False
        visit = self.visits[ticket["visit_id"]]
        if visit["changed_by"] != ticket["version"]:
            raise No("place-taken")
        if before["stages"] is not None and (self._planned(visit["visitor"]) or visit) is not visit:
            raise No("place-taken")
        has_gone_on: bool = visit["ticket_id"] != before["ticket_id"]
        if has_gone_on:
            following = self.tickets[visit["ticket_id"]]
            is_adopted = following["from_ticket_id"] != ticket["ticket_id"]
            if following["state"] != "waiting" or is_adopted or self.replaced[following["ticket_id"]] is not None:
                raise No("place-taken")
            self._change(following, "leave")
            self._remember(following, visit, dict(visit))
        kept = {name: visit[name] for name in ("secret_hash", "failures", "locked_at")}
        visit.update(before | kept | {"changed_by": None})
        return has_gone_on

    def _put_line_back(self, ticket: Row, replaced: Row) -> None:
        key, ticket_id = line_of(ticket), ticket["ticket_id"]
        if replaced["verb"] == "call":
            self.calls[key] = without_last(self.calls[key], ticket_id)
            if self.shown[key] == ticket["number"]:
                self.shown[key] = replaced["shown"]
        if replaced["verb"] == "finish":
            self.services[key] = without_last(self.services[key], ticket_id)


def without_last(entries: list[tuple[str, int]], ticket_id: str) -> list[tuple[str, int]]:
    last = max(at for at, (whose, _) in enumerate(entries) if whose == ticket_id)
    return entries[:last] + entries[last + 1 :]
