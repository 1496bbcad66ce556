// A Chromium that tests drive, and what all of them need: signing in, shots, and the look for what bars people out.
"use strict";
const path = require("node:path");
const fs = require("node:fs");
const { execFileSync } = require("node:child_process");

const given = JSON.parse(process.argv[2]);
const modules = process.env.MODULES;
const { chromium } = require(path.join(modules, "node_modules/playwright-core"));
const axe = fs.readFileSync(path.join(modules, "node_modules/axe-core/axe.min.js"), "utf8");

// The command line; with something on its standard input.
const run = (input, words) => {
  const env = { ...process.env, AGENT_MATE_HOME: given.home };
  return JSON.parse(execFileSync(given.program, ["--json", ...words], { env, input, encoding: "utf8", maxBuffer: 1 << 26 }));
};
const cli = (...words) => run("", words);
cli.given = (input, ...words) => run(input, words);

const launch = () =>
  chromium.launch({
    executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });

// A window that is signed in. What its pages say on the console, and what they load from elsewhere, is kept.
async function visit(browser, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const wrong = [];
  context.on("page", (page) => {
    page.on("console", (message) => message.type() === "error" && !/status of (401|403|404|409|422)/.test(message.text()) && wrong.push(message.text()));
    page.on("pageerror", (error) => wrong.push(String(error)));
    page.on("dialog", (dialog) => { wrong.push(`dialog ${dialog.message()}`); dialog.dismiss(); });
    page.on("request", (request) => request.url().startsWith(given.url) || wrong.push(`loads ${request.url()}`));
  });
  const page = await context.newPage();
  if (!options.storageState) await page.goto(cli("open").url);
  return { context, page, wrong };
}

async function shot(page, name) {
  fs.mkdirSync(given.shots, { recursive: true });
  await page.screenshot({ path: path.join(given.shots, `${name}.png`), fullPage: true });
}

// What axe finds serious, and whether the page is wider than its window.
async function barriers(page) {
  await page.evaluate(axe);
  const found = await page.evaluate(async () => {
    const { violations } = await window.axe.run(document, { resultTypes: ["violations"] });
    return violations.filter(({ impact }) => impact === "serious" || impact === "critical").map(({ id, nodes }) => `${id}: ${nodes[0].html.slice(0, 160)} ${nodes[0].failureSummary?.slice(0, 200)}`);
  }).catch((error) => [`axe: ${error}`]);
  const wide = await page.evaluate(() => {
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= width) return null;
    const worst = [...document.querySelectorAll("body *")].find((node) => node.getBoundingClientRect().right > width + 1);
    return `wider than ${width}: ${worst?.outerHTML.slice(0, 160)}`;
  });
  return wide ? [...found, wide] : found;
}

const check = (good, words) => { if (!good) throw new Error(words); };

module.exports = { given, cli, launch, visit, shot, barriers, check };
