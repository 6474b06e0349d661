"""Undo, told in the plainest way: whatever a ticket's latest change replaced is put back."""

from dawr.operations.undo import Undo
from tests.operations.desk_model import DeskModel
from tests.operations.line_model import No, Plain, Row, line_of


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
        before = replaced["ticket"]
        if self._has_ended(before):
            raise No("line-ended")
        if before["open_key"] != ticket["open_key"] and self._open(before["open_key"]) is not None:
            raise No("place-taken")
        was_at, was_missed = ticket["desk_id"], ticket["state"] == "missed"
        comes_back = self._put_visit_back(ticket, replaced)
        self._put_line_back(ticket, replaced)
        ticket.update(before)
        self.seat_of[operation.ticket_id] = replaced["seat"]
        self.replaced[operation.ticket_id] = None
        more = {"visit": ticket["visit_id"]} if comes_back else {}
        self._happened("ticket.undone", ticket["queue_id"], operation.ticket_id, **more)
        ticket["version"] = len(self.events)
        if was_at is not None and ticket["desk_id"] is None:
            self._call_after(was_at)
        if was_missed and was_at is not None:
            self._did_not_miss(was_at)
        if ticket["state"] in {"called", "held"}:
            self._set_timers(ticket, {"called": "call", "held": "hold"}[ticket["state"]])
        return ticket

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
