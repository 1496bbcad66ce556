#!/usr/bin/env python3
"""consent.py URL [no]: a person at an authorisation server's plain forms: logs in, says yes (or no), and is sent back."""

import html.parser
import http.cookiejar
import sys
import urllib.error
import urllib.parse
import urllib.request


class Form(html.parser.HTMLParser):
    """The first form of a page, and where the page leads to say no."""

    def __init__(self):
        super().__init__()
        self.action, self.fields, self.abort = None, {}, None

    def handle_starttag(self, tag, attrs):
        said = dict(attrs)
        if tag == "form" and self.action is None:
            self.action = said.get("action")
        elif tag == "input" and said.get("name"):
            self.fields[said["name"]] = said.get("value") or "somebody"
        elif tag == "a" and "/abort" in (said.get("href") or ""):
            self.abort = said["href"]


def main():
    url, refuses = sys.argv[1], sys.argv[2:] == ["no"]
    jar = http.cookiejar.CookieJar()
    browser = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(jar))
    page = browser.open(url, timeout=20)
    for _ in range(6):
        here, text = page.geturl(), page.read().decode()
        if "/callback" in urllib.parse.urlsplit(here).path:
            print(here)
            return 0
        form = Form()
        form.feed(text)
        if refuses and form.abort:
            page = browser.open(urllib.parse.urljoin(here, form.abort), timeout=20)
            continue
        if form.action is None:
            print(text, file=sys.stderr)
            return 1
        fields = urllib.parse.urlencode(form.fields).encode()
        page = browser.open(urllib.parse.urljoin(here, form.action), fields, timeout=20)
    return 1


if __name__ == "__main__":
    sys.exit(main())
