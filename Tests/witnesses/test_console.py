"""The console in a browser: its views, what they show, what is done there, and the commands that it copies."""

import re
import signal
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from contrast import faint_texts
from ports import free_port
from programs import BUILD, Broker, Program, await_true

PASSWORD = "a-long-password"
VIEWS = ("overview", "events", "channels", "connections", "webhooks", "limits", "configuration", "snippets")


@pytest.fixture
def broker():
    with Broker() as broker:
        yield broker


@pytest.fixture
def page(browsers, broker):
    page = browsers[0]
    page.script_errors()
    open_console(page, broker.url)
    yield page
    page.set_offline(False)
    assert page.script_errors() == []


def open_console(page, url):
    page.open("about:blank")
    page.open(url + "/")
    await_true(lambda: page.connection == "Live", "a live console", seconds=40)


def show(page, view):
    page.click(f'nav a[href="#{view}"]')
    await_true(lambda: page.run("return !document.getElementById(`view-${given[0]}`).hidden", view), view)


def trigger(broker, channel, event, data):
    command = [BUILD / "fanfare", "trigger", "--channel", channel, "--url", broker.url, "--", event, data]
    subprocess.run(command, check=True, capture_output=True, timeout=30)


def rows(page):
    return page.run(
        """
        return [...document.querySelectorAll("#event-list > li")].map((row) =>
            [...row.querySelectorAll("summary span")].map((span) => span.textContent));
        """
    )


def await_row(page, kind, *texts):
    def found():
        return [row for row in rows(page) if row[0] == kind and all(text in row for text in texts)]

    return await_true(found, f"{kind} {texts}", seconds=30, told=lambda: rows(page))


def test_overview_has_the_load(page, broker):
    def tile(name):
        return page.run(
            """
            const tile = [...document.querySelectorAll(".tile")].find((tile) => tile.textContent.startsWith(given[0]));
            return tile.querySelector("strong").textContent;
            """,
            name,
        )

    await_true(lambda: tile("Connections") == "0", "a count without the page itself", told=lambda: tile("Connections"))
    await_true(lambda: tile("Events a second") == "0", "a rate")
    assert page.text("#no-limits") == "None."
    assert tile("From trigger to send") == "0 ms"

    def is_timed():
        trigger(broker, "news", "hello", "1")
        return tile("From trigger to send") != "0 ms"

    await_true(is_timed, "the time of a send", told=lambda: tile("From trigger to send"))


def test_events_flow_and_are_filtered(page, broker):
    show(page, "events")
    trigger(broker, "news", "hello", '{"from":"me"}')
    trigger(broker, "sport", "goal", "1")
    await_row(page, "event", "news", "hello")
    await_row(page, "event", "sport", "goal")
    page.run('document.querySelector("#filters [name=channel]").value = "spo"')
    page.run('document.querySelector("#filters").dispatchEvent(new Event("input"))')
    assert [row[1] for row in rows(page)] == ["sport"]
    page.run('document.querySelector("#filters").reset()')
    page.run('document.querySelector("#filters").dispatchEvent(new Event("input"))')

    page.click("#pause")
    trigger(broker, "news", "unseen", "2")
    await_true(lambda: re.search(r"Paused; [1-9]", page.text("#flow")), "events that wait")
    assert not any("unseen" in row for row in rows(page))
    page.click("#pause")
    await_row(page, "event", "news", "unseen")


def test_a_refusal_says_why(page, broker):
    show(page, "events")
    command = [BUILD / "fanfare", "trigger", "e", "1", "--channel", "c", "--url", broker.url, "--secret", "wrong"]
    assert subprocess.run(command, capture_output=True, timeout=30).returncode != 0
    row = await_row(page, "refused", "POST /apps/1/events")[0]
    assert "signature" in row[2].lower(), row


def test_the_overview_tells_of_the_broker_and_of_refusals(page, broker):
    def fact(name):
        return page.run(
            """
            const tile = [...document.querySelectorAll("#facts .tile")].find((tile) => tile.textContent.startsWith(given[0]));
            return tile?.querySelector("strong").textContent;
            """,
            name,
        )

    await_true(lambda: fact("Memory"), "the broker's memory", told=lambda: page.text("#view-overview"))
    assert re.fullmatch(r"\d+\.\d+\.\d+", fact("Version")) and re.search("second|minute", fact("Up for"))
    assert re.fullmatch(r"[\d.]+ MiB", fact("Memory")) and fact("Gaps reported to clients") == "0"
    assert re.search(" B$|iB$", fact("Kept messages, in memory")) and fact("Webhooks given up") == "0"
    before = fact("Requests and connections refused")
    command = [BUILD / "fanfare", "trigger", "e", "1", "--channel", "c", "--url", broker.url, "--secret", "wrong"]
    assert subprocess.run(command, capture_output=True, timeout=30).returncode != 0
    with Program("fanfare", "listen", "news", "--key", "other", "--url", broker.url):
        await_true(lambda: "4001" in page.content("#refusals"), "a refused connection", told=lambda: page.content("#refusals"))
    row = page.run("return [...document.querySelectorAll('#refusals tr')].map((row) => [...row.cells].map((c) => c.textContent))")
    assert ["1", "401", "the signature, the key or the clock of a backend is wrong", "1"] in row, row
    assert fact("Requests and connections refused") != before


def test_lists_have_headings(page, broker):
    with Program("fanfare", "listen", "news", "--url", broker.url) as listener:
        listener.await_line("subscribed to news")
        trigger(broker, "news", "hello", "1")
        for view, heading in [
            ("channels", "Subscribers"), ("connections", "Round trip"), ("limits", "In use"), ("events", "Event or reason"),
        ]:
            if view == "events":
                trigger(broker, "news", "hello", "1")
            show(page, view)
            await_true(lambda: heading in page.text(f"#view-{view}"), f"{view}: {heading}", told=lambda: page.text("main"))


def test_why_a_message_did_not_arrive(page, broker):
    with Program("fanfare", "listen", "news", "--url", broker.url) as listener:
        listener.await_line("subscribed to news")
        for data in "12":
            trigger(broker, "news", "hello", data)
        listener.await_line("news hello 2")
        show(page, "overview")
        show(page, "channels")
        await_true(lambda: "news" in page.text("#channel-list"), "the channel")
        details_of(page, "#channel-list", "news")
        for serial, text in [("2", r"2 was published at \d{4}-.* and is kept\.\s+1 client: sent"), ("9", "9 was never published")]:
            field = page._find(".why [name=serial]")
            field.clear()
            field.send_keys(serial + "\n")
            await_true(lambda: re.search(text, page.text(".why + output")), text, told=lambda: page.text("#channel-list"))


def test_an_event_is_sent(page):
    show(page, "events")
    page.click("#send summary")
    page.click("#send button")
    await_true(lambda: page.text("#sent") == "Sent.", "an answer")
    await_row(page, "event", "my-channel", "my-event")


@pytest.mark.parametrize("data", ["""{"it's":"$HOME \\"quoted\\" 90%"}""", "-1", "--help"])
@pytest.mark.parametrize("button", ["Copy as fanfare trigger", "Copy as curl"])
def test_a_copied_command_sends_the_event_again(page, broker, button, data):
    show(page, "events")
    trigger(broker, "news", "hello", data)
    await_row(page, "event", "news", "hello")
    command = page.run(
        """
        let copied;
        navigator.clipboard.writeText = async (text) => { copied = text; };
        document.querySelector("#event-list > li details").open = true;
        await new Promise((resolve) => setTimeout(resolve, 100));
        [...document.querySelectorAll("#event-list button")].find(({ textContent }) => textContent === given[0]).click();
        return copied;
        """,
        button,
    )
    path = {"PATH": f"{BUILD}:/usr/bin:/bin"}
    done = subprocess.run(["sh", "-c", command], env=path, capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done
    await_true(lambda: len([row for row in rows(page) if row[2] == "hello"]) == 2, "the event again")
    texts = page.run(
        """
        for (const details of document.querySelectorAll("#event-list details")) details.open = true;
        await new Promise((resolve) => setTimeout(resolve, 100));
        return [...document.querySelectorAll("#event-list pre")].map(({ textContent }) => textContent);
        """
    )
    assert len(texts) == 2 and texts[0] == texts[1]


def test_channels_are_listed_with_their_members(page, broker):
    with Program("fanfare", "listen", "presence-room", "news", "--user", "ann", "--url", broker.url):

        def listed():
            show(page, "overview")
            show(page, "channels")
            return page.text("#channel-count") == "2 channels"

        await_true(listed, "the channels", seconds=30, told=lambda: page.text("#view-channels"))
        page.run("for (const details of document.querySelectorAll('#channel-list details')) details.open = true")
        await_true(lambda: "Members" in page.text("#channel-list") and "ann" in page.text("#channel-list"), "the members")
        assert "Subscribers" in page.text("#channel-list")


def details_of(page, selector, text):
    """Opens the item of a list that has a text; returns what it then shows."""
    page.run(
        """
        const item = [...document.querySelectorAll(`${given[0]} details`)].find((item) => item.textContent.includes(given[1]));
        item.open = true;
        """,
        selector,
        text,
    )
    place = f"{selector} details[open]"
    await_true(lambda: page._driver.find_elements("css selector", f"{place} dl"), "details")
    return page.text(place)


def press_twice(page, label):
    """Presses a button that asks before it does something."""
    for _ in range(2):
        page.run(
            """
            const buttons = [...document.querySelectorAll("section:not([hidden]) button")];
            buttons.find((button) => button.textContent.startsWith(given[0]) || button.dataset.asks).click();
            """,
            label,
        )


def test_connections_are_listed_and_closed(page, broker):
    with (
        Program("fanfare", "listen", "news", "--user", "ann", "--url", broker.url) as listener,
        Program("fanfare", "listen", "sport", "--url", broker.url) as other,
    ):
        socket_id = listener.await_line(r"connected as ([\d.]+)")[1]
        other.await_line("subscribed to sport")
        listener.await_line("subscribed to news")
        show(page, "connections")
        await_true(lambda: page.text("#connection-count") == "2 connections in all.", "two", told=lambda: page.text("main"))
        page._find("#connection-search [name=user]").send_keys("ann\n")
        await_true(lambda: page.text("#connection-count") == "1 matching, 2 connections in all.", "one of them")
        text = details_of(page, "#connection-list", socket_id)
        assert "news" in text and "127.0.0.1:" in text and "fanfare-swift" in text.lower(), text
        press_twice(page, "Close")
        listener.await_line("code 4200|closed in the console")
        listener.await_line(rf"connected as (?!{re.escape(socket_id)})")
    assert re.search(r"console: connection closed.*127\.0\.0\.1", " ".join(broker_lines(broker)))


def broker_lines(broker):
    """What the broker has printed so far."""
    broker.new_lines
    return broker.lines


def test_a_user_is_terminated(page, broker):
    with Program("fanfare", "listen", "news", "--user", "ann", "--url", broker.url) as listener:
        socket_id = listener.await_line(r"connected as ([\d.]+)")[1]
        listener.await_line("signed in as ann")
        show(page, "overview")
        show(page, "connections")
        await_true(lambda: "1 connection in all." == page.text("#connection-count"), "the connection")
        details_of(page, "#connection-list", socket_id)
        press_twice(page, "Close all of ann")
        listener.await_line("4009")


def test_limits_say_how_near_they_are(page, broker):
    with Program("fanfare", "listen", "cache-x", "--url", broker.url) as listener:
        listener.await_line("subscribed")
        trigger(broker, "cache-x", "e", "1")
        show(page, "limits")
        await_true(lambda: "limits.connections_max" in page.text("#limit-list"), "a limit in use")
        text = page.text("#limit-list")
        assert "apps (1).cached_events_max" in text and "never reached" in text, text
        assert "message_length_max" not in text
        page.click("#limits-used")
        assert "message_length_max" in page.text("#limit-list")
        page.click("#limits-used")


def test_the_configuration_hides_secrets(page):
    show(page, "configuration")
    await_true(lambda: "clients.activity_timeout" in page.text("#settings"), "the keys")
    text = page.text("#settings")
    assert "apps.0.secret" in text and "(secret)" in text and "app-secret" not in text
    page._find("#configuration-search [name=key]").send_keys("recovery.age")
    await_true(lambda: "clients.activity_timeout" not in page.text("#settings"), "the search")
    page._find("#configuration-search [name=key]").clear()


def test_webhooks_without_any(page):
    show(page, "webhooks")
    await_true(lambda: "No app has webhooks" in page.text("#view-webhooks"), "no endpoints")
    await_true(lambda: "None are kept" in page.text("#letter-count"), "no dead letters")


class Refusing(BaseHTTPRequestHandler):
    """An endpoint that wants no webhooks any more: what it gets is a dead letter at once."""

    def do_POST(self):
        self.server.count += 1
        self.send_response(410)
        self.end_headers()

    def log_message(self, *_):
        pass


def test_dead_letters_are_sent_again(browsers, tmp_path):
    endpoint = HTTPServer(("127.0.0.1", 0), Refusing)
    endpoint.count = 0
    threading.Thread(target=endpoint.serve_forever, daemon=True).start()
    page, port = browsers[1], free_port()
    file = tmp_path / "broker.yaml"
    # One kind alone: a busy machine may take longer to the console than the channel takes to be vacated.
    webhook = f"{{url: 'http://127.0.0.1:{endpoint.server_port}/hook', events: [channel_occupied]}}"
    file.write_text(
        f"""
apps:
  - {{id: '1', key: app-key, secret: app-secret, webhooks: [{webhook}]}}
webhooks: {{database: {tmp_path / "webhooks.sqlite"}}}
console: {{port: {port}, password: {PASSWORD}}}
"""
    )
    with Broker(configuration=file) as broker:
        trigger(broker, "news", "e", "1")
        with Program("fanfare", "listen", "news", "--url", broker.url) as listener:
            listener.await_line("subscribed")
            await_true(lambda: endpoint.count == 1, "a webhook")
        page.open(f"http://127.0.0.1:{port}/")
        page._find("input[name=password]").send_keys(PASSWORD + "\n")
        await_true(lambda: page._driver.find_elements("id", "connection") and page.connection == "Live", "the console")

        def letters():
            page.click("#reload-webhooks")
            return page.text("#letter-count")

        show(page, "webhooks")
        await_true(lambda: letters().startswith("1 dead letter"), "a dead letter", seconds=30)
        assert "/hook" in page.text("#endpoints")
        text = details_of(page, "#letters", "/hook")
        assert "channel_occupied" in text and "gone" in text, text
        count = endpoint.count
        press_twice(page, "Send again")
        await_true(lambda: endpoint.count > count, "it again", seconds=30)
        assert any("dead letters are sent again" in line for line in broker_lines(broker))
        page.open("about:blank")
    endpoint.shutdown()


class Accepting(Refusing):
    """An endpoint that takes what it gets."""

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(204)
        self.end_headers()


def test_one_of_two_endpoints_is_dead(browsers, tmp_path):
    endpoint = HTTPServer(("127.0.0.1", 0), Accepting)
    threading.Thread(target=endpoint.serve_forever, daemon=True).start()
    page, port, closed = browsers[1], free_port(), free_port()
    file = tmp_path / "broker.yaml"
    webhooks = "".join(
        f"\n      - {{url: 'http://127.0.0.1:{port}/hooks/s3cret-{port}', events: [channel_occupied], channel_prefix: news}}"
        for port in (endpoint.server_port, closed)
    )
    file.write_text(
        "apps:\n  - id: '1'\n    key: app-key\n    secret: app-secret\n    webhooks:"
        f"{webhooks}\nconsole: {{port: {port}, password: {PASSWORD}}}\n"
    )
    with (
        Broker(configuration=file) as broker,
        Program("fanfare", "listen", "news", "--url", broker.url) as listener,
    ):
        listener.await_line("subscribed")
        page.open(f"http://127.0.0.1:{port}/")
        page._find("input[name=password]").send_keys(PASSWORD + "\n")
        await_true(lambda: page._driver.find_elements("id", "connection") and page.connection == "Live", "the console")
        show(page, "webhooks")

        def states():
            page.click("#reload-webhooks")
            spans = "[...row.querySelectorAll('summary span')].map((span) => span.textContent)"
            return page.run(f"return [...document.querySelectorAll('#endpoints li')].map((row) => {spans})")

        expected = [
            [f"http://127.0.0.1:{endpoint.server_port}/hooks/…", "works, 1 delivered", "app 1, number 1"],
            [f"http://127.0.0.1:{closed}/hooks/…", "fails, 1 waiting", "app 1, number 2"],
        ]
        await_true(lambda: states() == expected, "one that works and one that fails", seconds=30, told=states)
        assert "news…" in page.content("#endpoints") and "s3cret" not in page.content("body")
        assert not any("s3cret" in line for line in broker_lines(broker))
        page.open("about:blank")
    endpoint.shutdown()


def test_a_broker_stops_while_the_console_is_open(page, browsers):
    """Also while the page asks for something, and again and again."""
    other = browsers[1]
    for view in ("overview", "connections", "limits"):
        broker = Broker()
        open_console(other, broker.url)
        show(other, view)
        start = time.monotonic()
        broker.signal(signal.SIGINT)
        assert broker.wait(15) == 0, broker.output
        assert time.monotonic() - start < 15
    other.open("about:blank")
    other.script_errors()


def test_snippets_have_the_real_port_and_key(page, broker):
    show(page, "snippets")
    text = page.text("#snippet-list")
    assert f"wsPort: {broker.port}" in text and f"PUSHER_PORT={broker.port}" in text
    assert 'new Pusher("app-key"' in text and "PUSHER_APP_SECRET=app-secret" in text


def test_every_view_has_names_for_screen_readers_and_fits_a_phone(page):
    page._driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True}
    )
    try:
        for view in VIEWS:
            show(page, view)
            assert page.run("return document.documentElement.scrollWidth") <= 360, view
            unnamed = page.run(
                """
                const fields = [...document.querySelectorAll("input, select, textarea, button")];
                return fields.filter((field) => !field.closest("[hidden]") && !field.labels?.length
                    && !field.textContent.trim() && !field.ariaLabel).map(({ outerHTML }) => outerHTML);
                """
            )
            assert unnamed == [], view
            assert page.run("return document.querySelectorAll('main section:not([hidden]) h2').length") == 1
            assert page.run("return document.querySelector('nav a[aria-current]').hash") == f"#{view}"
    finally:
        page._driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read(page, scheme):
    """WCAG 2.2, 1.4.3: a contrast of 4.5 between text and background."""
    with page.colour_scheme(scheme):
        for view in VIEWS:
            show(page, view)
            assert faint_texts(page) == [], view


def test_the_views_can_be_reached_by_the_keyboard(page):
    page.run("document.querySelector('nav a').focus()")
    for view in VIEWS:
        focused = page.run(
            """
            const link = document.activeElement;
            return [link.hash, getComputedStyle(link).outlineStyle];
            """
        )
        assert focused[0] == f"#{view}"
        page._driver.switch_to.active_element.send_keys("\ue007")
        await_true(lambda: page.run("return !document.getElementById(`view-${given[0]}`).hidden", view), view)
        assert page.run("return document.activeElement.matches(':focus-visible')"), view
        page._driver.switch_to.active_element.send_keys("\ue004")


def test_it_asks_for_a_password_elsewhere(browsers, tmp_path):
    page = browsers[1]
    port = free_port()
    file = tmp_path / "broker.yaml"
    file.write_text(
        f"apps: [{{id: '7', key: key-7, secret: secret-7}}]\nconsole: {{port: {port}, password: {PASSWORD}}}\n"
    )
    with Broker(configuration=file):
        url = f"http://127.0.0.1:{port}/"
        page.open(url)
        page.script_errors()
        page._find("input[name=password]").send_keys("wrong" + "\n")
        page.await_text(".problem", "The password is wrong.")
        page._find("input[name=password]").send_keys(PASSWORD + "\n")
        page.await_text("#connection", "Live")
        show(page, "snippets")
        assert "secret-7" not in page.text("main")
        page.click("#sign-out")
        await_true(lambda: page._driver.find_elements("css selector", "input[name=password]"), "the form again")
        assert page.script_errors() == []
