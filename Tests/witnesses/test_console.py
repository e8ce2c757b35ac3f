"""The console in a browser: its four views, what they show, and the commands that it copies."""

import re
import subprocess

import pytest

from programs import BUILD, Broker, Program, await_true
from web_server import free_port

PASSWORD = "a-long-password"


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
    command = [BUILD / "fanfare", "trigger", event, data, "--channel", channel, "--url", broker.url]
    subprocess.run(command, check=True, capture_output=True, timeout=30)


def rows(page):
    return page.run(
        """
        return [...document.querySelectorAll("#events > li")].map((row) =>
            [...row.querySelectorAll("summary span")].map((span) => span.textContent));
        """
    )


def await_row(page, kind, *texts):
    def found():
        return [row for row in rows(page) if row[0] == kind and all(text in row for text in texts)]

    return await_true(found, f"{kind} {texts}", seconds=30, told=lambda: rows(page))


def test_overview_has_the_load(page):
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


def test_an_event_is_sent(page):
    show(page, "events")
    page.click("#send summary")
    page.click("#send button")
    await_true(lambda: page.text("#sent") == "Sent.", "an answer")
    await_row(page, "event", "my-channel", "my-event")


@pytest.mark.parametrize("button", ["Copy as fanfare trigger", "Copy as curl"])
def test_a_copied_command_sends_the_event_again(page, broker, button):
    show(page, "events")
    data = """{"it's":"$HOME \\"quoted\\" 90%"}"""
    trigger(broker, "news", "hello", data)
    await_row(page, "event", "news", "hello")
    command = page.run(
        """
        let copied;
        navigator.clipboard.writeText = async (text) => { copied = text; };
        document.querySelector("#events > li details").open = true;
        await new Promise((resolve) => setTimeout(resolve, 100));
        [...document.querySelectorAll("#events button")].find(({ textContent }) => textContent === given[0]).click();
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
        for (const details of document.querySelectorAll("#events details")) details.open = true;
        await new Promise((resolve) => setTimeout(resolve, 100));
        return [...document.querySelectorAll("#events pre")].map(({ textContent }) => textContent);
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
        page.run("for (const details of document.querySelectorAll('#channels details')) details.open = true")
        await_true(lambda: "Members" in page.text("#channels") and "ann" in page.text("#channels"), "the members")
        assert "Subscribers" in page.text("#channels")


def test_snippets_have_the_real_port_and_key(page, broker):
    show(page, "snippets")
    text = page.text("#snippets")
    assert f"wsPort: {broker.port}" in text and f"PUSHER_PORT={broker.port}" in text
    assert 'new Pusher("app-key"' in text and "PUSHER_APP_SECRET=app-secret" in text


def test_every_view_has_names_for_screen_readers_and_fits_a_phone(page):
    page._driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True}
    )
    try:
        for view in ("overview", "events", "channels", "snippets"):
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
    finally:
        page._driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


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
        await_true(lambda: page.text(".problem") == "The password is wrong.", "a refusal")
        page._find("input[name=password]").send_keys(PASSWORD + "\n")
        await_true(lambda: page._driver.find_elements("id", "connection") and page.connection == "Live", "the console")
        show(page, "snippets")
        assert "secret-7" not in page.text("main")
        page.click("#sign-out")
        await_true(lambda: page._driver.find_elements("css selector", "input[name=password]"), "the form again")
        assert page.script_errors() == []
