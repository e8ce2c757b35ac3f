"""A page in headless Chromium, and what a user does with it."""

from contextlib import contextmanager

from selenium import webdriver
from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException, WebDriverException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By

from programs import await_true


class Page:
    """What all demos have: the state of the connection, problems and notices, and rows that can be dragged."""

    def __init__(self, trusts_anybody=False):
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        for argument in (
            "--headless=new",
            "--window-size=900,860",
            # Chromium refuses its sandbox to root, and a container may not have it.
            "--no-sandbox",
            "--disable-dev-shm-usage",
            # A page that draws something sixty times a second takes the core of the others.
            "--force-prefers-reduced-motion",
        ):
            options.add_argument(argument)
        if trusts_anybody:
            # The tests' certificate is signed by no trusted authority.
            options.add_argument("--ignore-certificate-errors")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self._driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
        self._driver.set_script_timeout(90)

    def open(self, url):
        self._driver.get(url)

    def open_in_new_tab(self, url):
        """Closes the tab, and what only it had, behind a new one of the same browser."""
        old = self._driver.current_window_handle
        self._driver.switch_to.new_window("tab")
        new = self._driver.current_window_handle
        self._driver.switch_to.window(old)
        self._driver.close()
        self._driver.switch_to.window(new)
        self._driver.get(url)

    def reload(self):
        self._driver.refresh()

    def quit(self):
        self._driver.quit()

    def set_offline(self, is_offline):
        """Cuts the page off from everything, or connects it again, by the browser's own emulation."""
        conditions = {"offline": is_offline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        self._driver.execute_cdp_cmd("Network.enable", {})
        self._driver.execute_cdp_cmd("Network.emulateNetworkConditions", conditions)

    def freeze(self):
        """Stops the page's tasks, as a browser does with a page in the background; it still answers ping frames for it."""
        self._set_lifecycle("frozen")

    def thaw(self):
        """Continues the page, which stays hidden: the next one needs a tab of its own."""
        self._set_lifecycle("active")

    def _set_lifecycle(self, state):
        self._driver.execute_cdp_cmd("Page.setWebLifecycleState", {"state": state})

    def run(self, script, *arguments):
        """What an async function with this body returns; an error in it fails the test."""
        result = self._driver.execute_async_script(
            """
            const done = arguments[arguments.length - 1];
            const given = [...arguments].slice(0, -1);
            (async (...given) => { %s })(...given).then(
                (value) => done({ value }), (error) => done({ error: `${error}\\n${error.stack}` }));
            """
            % script,
            *arguments,
        )
        assert "error" not in result, result["error"]
        return result.get("value")

    def text(self, selector):
        """Its text as shown; an element that the page replaces between finding and reading is found again."""
        while True:
            element = self._find(selector)
            try:
                return element.text
            except StaleElementReferenceException:
                continue
            except WebDriverException as error:
                # Chromium's driver says so, instead of "stale", of an element that is replaced during the reading.
                if "does not belong to the document" not in str(error):
                    raise

    def await_text(self, selector, text):
        """Waits for an element with this text also while another page loads, which has it only when it is there."""

        def shows():
            try:
                return self.text(selector) == text
            except NoSuchElementException:
                return False

        await_true(shows, f"{selector} with the text {text!r}")

    def content(self, selector):
        """Its text, also while it is not shown."""
        return self._find(selector).get_property("textContent")

    @property
    def connection(self):
        return self.text("#connection")

    @property
    def problems(self):
        return self.text("#problems")

    @property
    def notices(self):
        return self.text("#notices")

    def request_count(self, path):
        """How often the page has asked for a path."""
        script = """
            const paths = performance.getEntriesByType("resource").map(({ name }) => new URL(name).pathname);
            return paths.filter((path) => path === given[0]).length;
        """
        return self.run(script, path)

    def script_errors(self):
        """What the console tells of scripts; that a server is away is told there too, and is no fault."""
        entries = self._driver.get_log("browser")
        return [entry["message"] for entry in entries if entry["source"] == "javascript"]

    def save_picture(self, path):
        self._driver.save_screenshot(str(path))

    def go_offline(self):
        """By the page's own button."""
        self.click("#offline")
        await_true(lambda: self.connection == "Offline", "that the page is offline")

    def go_online(self):
        self.click("#offline")
        self.await_live()

    def await_live(self):
        await_true(lambda: self.connection == "Live", "a live connection", seconds=40)

    def watch_classes(self, name):
        """From the next page on, remembers which elements have had a class."""
        script = """
            window.flashed = [];
            new MutationObserver((changes) => {
                for (const { target } of changes) if (target.classList?.contains(%r)) flashed.push(target.textContent);
            }).observe(document, { subtree: true, childList: true, attributes: true, attributeFilter: ["class"] });
        """
        self._driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": script % name})

    def flashed(self):
        return self._driver.execute_script("return window.flashed")

    @contextmanager
    def phone(self, width=360, height=640):
        """Shows pages as a phone with a screen of this size does."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": True}
        self._driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        try:
            yield
        finally:
            self._driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    @contextmanager
    def colour_scheme(self, scheme):
        """Shows pages as people see them who prefer "light" or "dark"."""
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        self._driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        try:
            yield
        finally:
            self._driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})

    # What a person does

    def click(self, selector):
        self._find(selector).click()

    def drag(self, name, target):
        """By mouse, from the middle of one row to the middle of another."""
        start, end = self._row(name), self._row(target)
        distance = end.rect["y"] - start.rect["y"]
        ActionChains(self._driver).click_and_hold(start).move_by_offset(0, distance // 2).move_by_offset(
            0, distance - distance // 2
        ).release().perform()

    def press(self, name, *keys):
        """With the handle of a row in focus."""
        self._row(name).find_element(By.CSS_SELECTOR, ".handle").send_keys(*keys)

    def remove(self, name):
        self.click_in_row(name, ".remove")

    def click_in_row(self, name, selector):
        """In one step: a mouse would aim at where the row was, and others' changes let rows glide meanwhile."""
        button = self._row(name).find_element(By.CSS_SELECTOR, selector)
        self._driver.execute_script("arguments[0].click()", button)

    def _find(self, selector):
        return self._driver.find_element(By.CSS_SELECTOR, selector)

    def _row(self, name):
        return self._driver.find_element(
            By.XPATH, f'//ol[@id="rows"]/li[not(contains(@class, "leaving"))][.//*[text()="{name}"]]'
        )
