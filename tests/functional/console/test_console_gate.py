"""The profiling panel of the console: state, switch, and profiles that a browser saves."""

import gzip

from pyroscope_peer import Pyroscope


def test_closed_the_buttons_say_why(page, own_console):
    console = own_console(10)
    page.open(console.url)
    page.wait_text("#gate-state", "Closed")
    for button in ("pprofMemoryLoading", "cpuProfileLoading"):
        page.js(f"document.getElementById('{button}').previousElementSibling.click()")
        page.wait_text("#gate-problem", "profiling is off; open it with POST /api/v1/profiling")
        page.js("document.getElementById('gate-problem').textContent = ''")
        page.wait(f"document.getElementById('{button}').hidden")
    assert [status for status, _ in page.failed] == [503, 503]
    page.failed.clear()


def test_switch_and_time_to_revert(page, own_console):
    console = own_console(10)
    page.open(console.url)
    page.wait_text("#gate-state", "Closed")
    page.js("document.querySelector('.gate select').value = '30m'")
    page.click("#gate-turn")
    page.wait_text("#gate-state", "Open")
    page.wait_text("#gate-facts", "Opened by 127.0.0.1:")
    page.wait_text("#gate-facts", "It closes in 29 min")
    gate = console.get("/api/v1/profiling")["data"]
    assert gate["enabled"] is True and gate["revert_pending"] is True
    page.click("#gate-turn")
    page.wait_text("#gate-state", "Closed")
    assert console.get("/api/v1/profiling")["data"]["enabled"] is False


def test_profiles_are_saved_under_their_names(page, own_console, tmp_path):
    console = own_console(10)
    page.downloads_to(tmp_path)
    page.open(console.url)
    page.wait_text("#gate-state", "Closed")
    page.click("#gate-turn")
    page.wait_text("#gate-state", "Open")
    for button, name in (("pprofMemoryLoading", "nl6_heap.pprof.gz"),
                         ("cpuProfileLoading", "nl6_cpu.pprof.gz")):
        page.js(f"document.getElementById('{button}').previousElementSibling.click()")
        page.wait(f"!document.getElementById('{button}').hidden")
        assert gzip.decompress(page.downloaded(tmp_path, name))
        page.wait(f"document.getElementById('{button}').hidden")


def test_it_pushes_and_says_how_that_goes(page, own_console):
    peer = Pyroscope()
    try:
        console = own_console(10)
        page.open(console.url)
        page.wait_text("#gate-state", "Closed")
        page.js(f"document.querySelector('.gate-server').value = '{peer.url}'")
        page.click("#gate-turn")
        page.wait_text("#gate-facts", f"Pushing to {peer.url}: 0 uploads")
        assert page.js("document.querySelector('.gate-server').hidden")
        assert console.get("/api/v1/profiling")["data"]["pushing"] is True
        page.wait_text("#gate-facts", f"Pushing to {peer.url}: 3 uploads, the last at ")
        page.click("#gate-turn")
        page.wait_text("#gate-state", "Closed")
        peer.kill()
        page.click("#gate-turn")
        page.wait_text("#gate-facts", "Pushing to")
        page.wait_text("#gate-facts", "3 errors")
        page.wait_text("#gate-facts", "upload profile: do http request: ")
        # What makes no sense is told, and the gate stays as it is.
        page.click("#gate-turn")
        page.wait_text("#gate-state", "Closed")
        page.js("document.querySelector('.gate-server').value = 'ftp://x'")
        page.click("#gate-turn")
        page.wait_text("#gate-problem", "must use http:// or https://")
        assert [status for status, _ in page.failed] == [400]
        page.failed.clear()
    finally:
        peer.close()
