"""What the browser tests have run of a script is counted by its blocks."""

from tests.browser.scripts import _judged, _ran, _runs_of

SOURCE = """// A comment is nothing that could be run.
function always() {
  return 1;
}
function never() {
  return 2;
}
"""


def block(start: int, end: int, count: int) -> dict[str, int]:
    return {"startOffset": start, "endOffset": end, "count": count}


def test_a_block_that_was_not_run_is_missing_from_the_script_around_it() -> None:
    start, end = SOURCE.index("function never"), len(SOURCE)
    functions = [{"ranges": [block(0, len(SOURCE), 1)]}, {"ranges": [block(start, end, 0)]}]

    module = _judged("one.js", SOURCE, _ran({"functions": functions}, len(SOURCE)))

    assert module.missed == "5-7"
    assert 40 < module.percent < 60


def test_a_script_that_no_page_loaded_was_not_run_at_all() -> None:
    assert _judged("one.js", SOURCE, bytes(len(SOURCE))).percent == 0


def test_lines_are_told_by_their_runs() -> None:
    assert _runs_of([3, 4, 5, 9, 11, 12]) == "3-5, 9, 11-12"
