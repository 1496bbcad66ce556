// What people do with the dashboard, in a real browser. One line of JSON for each journey; the first that fails ends it.
"use strict";
const { given, cli, launch, visit, shot, barriers, check } = require("./browser.cjs");

const stub = (steps) => `Please do as the script says. STUB[[ ${JSON.stringify(steps)} ]]`;
const badge = (page, words) => page.locator(".head .badge", { hasText: words });

// Everything by the dashboard alone: connect, grant, run, allow, and say afterwards what was done by whose leave.
async function fromNothing(browser) {
  const { page, wrong } = await visit(browser);
  await page.goto(`${given.url}/runtimes`);
  await page.fill("#f-name", "by-hand");
  await page.fill("#f-command", `${given.program}\nscripted-runtime`);
  await page.click("text=Register >> nth=-1");
  await page.goto(`${given.url}/connections`);
  await page.fill("#f-name", "tickets");
  await page.fill("#f-command", `${given.program}\neffect-server\n--log\n${given.effects}`);
  await page.fill("#f-allow_fields", "note.text");
  await page.click("text=Connect >> nth=-1");
  await page.waitForSelector("text=Grant some of its tools");
  await page.click("text=Grant some of its tools");
  await page.fill("#f-tools", "*");
  await page.click("button:text-is('Grant')");
  await page.waitForSelector("text=Revoke");
  const grant = page.url();
  await page.goto(given.url);
  await page.keyboard.press("n");
  await page.waitForSelector("#f-instructions");
  await page.selectOption("#f-runtime", { label: "by-hand" });
  await page.fill("#f-instructions", stub([{ plan: ["look", "write"] }, { text: "I write one note." }, { tool: "tickets__note", args: { text: "<img src=x onerror=alert(1)>\u202egpj" } }, { text: "<script>window.pwned=1</script> done" }]));
  await page.click("button:text-is('Submit')");
  // The request appears by itself, and its exact words are shown as words.
  const allow = page.locator(".card.ask button.primary");
  await allow.waitFor({ timeout: 60000 });
  check((await page.locator(".card.ask .value").innerText()).includes("\\u{202e}"), "what turns the reading direction is written out");
  await shot(page, "approval");
  await allow.click();
  await badge(page, "completed").waitFor({ timeout: 60000 });
  await page.locator("#conversation", { hasText: "done" }).waitFor();
  check(!(await page.evaluate(() => window.pwned)), "text of an agent is no script");
  await shot(page, "completed");
  const task = page.url();
  await page.click("#operations a.title");
  await page.waitForSelector("text=By whose leave");
  check((await page.locator("main").innerText()).includes("said allow"), "by whose leave");
  await shot(page, "operation");
  await page.goto(grant);
  await page.click("button:text-is('Revoke')");
  await badge(page, "revoked").waitFor();
  check(wrong.length === 0, wrong.join("; "));
  await page.context().close();
  return task;
}

// The browser goes away in the middle of a call, and comes back: the task went on, and the page lives.
async function away(browser) {
  const first = await visit(browser);
  const task = cli("task", "add", "--project", "default", "--runtime", "scripted", "--approve", stub([{ text: "Slowly." }, { tool: "demo__slow", args: { key: "s", seconds: 4 } }, { text: "It is done." }]));
  await first.page.goto(`${given.url}/tasks/${task.id}`);
  await first.page.locator("#operations .badge", { hasText: "in flight" }).waitFor({ timeout: 60000 });
  await shot(first.page, "in-flight");
  const storageState = await first.context.storageState();
  await first.context.close();
  const { page, wrong, context } = await visit(browser, { storageState });
  await page.goto(`${given.url}/tasks/${task.id}`);
  await badge(page, "completed").waitFor({ timeout: 60000 });
  check(wrong.length === 0, wrong.join("; "));
  await context.close();
}

// A task is stopped by its button, and said to be stopped only when it is.
async function stop(browser) {
  const { page, context } = await visit(browser);
  const task = cli("task", "add", "--project", "default", "--runtime", "scripted", "--approve", stub([{ text: "Thinking" }, { sleep_ms: 600000 }]));
  await page.goto(`${given.url}/tasks/${task.id}`);
  await page.locator("#actions button:text-is('Stop')").click({ timeout: 60000 });
  await badge(page, "stopped").waitFor({ timeout: 60000 });
  await shot(page, "stopped");
  await context.close();
}

// An unknown outcome, settled at its desk; what is typed stays while the page keeps itself.
async function unknown(browser) {
  const { page, context } = await visit(browser);
  await page.goto(given.url);
  await shot(page, "overview");
  await page.click(`text=Look and settle it`);
  await page.selectOption("#f-as", "succeeded");
  await page.fill("#f-reason", "the other side has it");
  await page.waitForTimeout(1500);
  check((await page.inputValue("#f-reason")) === "the other side has it", "what is typed stays");
  await shot(page, "desk");
  await page.click("button:text-is('Settle it')");
  await badge(page, "succeeded").waitFor();
  await context.close();
}

// Eight tabs over HTTP/1.1, all of them live.
async function tabs(browser) {
  const { page, context } = await visit(browser);
  const task = cli("task", "add", "--project", "default", "--runtime", "scripted", stub([{ text: "after a while" }]));
  const all = [page];
  while (all.length < 8) all.push(await context.newPage());
  for (const one of all) await one.goto(`${given.url}/tasks/${task.id}`);
  cli("task", "approve", task.id);
  for (const one of all) await badge(one, "completed").waitFor({ timeout: 60000 });
  await context.close();
}

// A task of very many events: its page is as small and as quick as any, and what is earlier comes on demand.
async function long(browser) {
  // An empty plan is the shortest event that can be asked for; so many fit into one prompt.
  const steps = new Array(given.events).fill({ plan: [] });
  const task = cli.given(stub([...steps, { plan: ["a"] }, { text: "the last word" }]), "task", "add", "--project", "default", "--runtime", "scripted", "--approve", "--wait", "-");
  check(task.state === "completed", JSON.stringify(task).slice(0, 300));
  const { page, context } = await visit(browser);
  await page.goto(`${given.url}/tasks/${task.id}`);
  const painted = await page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime);
  const first = await painted.jsonValue();
  const nodes = () => page.evaluate(() => document.getElementsByTagName("*").length);
  await shot(page, "long");
  check((await page.locator("#conversation").innerText()).includes("the last word"), "the newest part comes first");
  check((await nodes()) < 1500, `${await nodes()} nodes`);
  await page.click("#conversation >> text=Earlier");
  await page.waitForSelector("text=To the newest part");
  check(!(await page.locator("#conversation").innerText()).includes("the last word"), "an earlier part");
  check((await nodes()) < 1500, `${await nodes()} nodes`);
  await context.close();
  return Math.round(first);
}

async function artifact(browser) {
  const { page, context } = await visit(browser);
  await page.goto(`${given.url}/tasks/${given.kept.task}`);
  const [download] = await Promise.all([page.waitForEvent("download"), page.click("#artifacts a[download]")]);
  const { readFileSync } = require("node:fs");
  check(readFileSync(await download.path(), "utf8") === given.kept.content, "the artifact's content");
  await context.close();
}

// Who is not a member finds nothing; who is signed out is asked to sign in, and led back.
async function strangers(browser) {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${given.url}/tokens`);
  await page.fill("#f-token", given.stranger);
  await page.click("button:text-is('Sign in')");
  await page.waitForURL(`${given.url}/tokens`);
  const answer = await page.goto(`${given.url}/tasks/${given.kept.task}`);
  check(answer.status() === 404, `a foreign task: ${answer.status()}`);
  await context.close();
}

// Every page, dark and light, wide and narrow: nothing serious in the way of anybody. Without a script it reads as well.
async function everywhere(browser, task) {
  const pages = { overview: "/", task: new URL(task).pathname, unknown: `/operations/${given.operation}`, submit: "/tasks/new", projects: "/projects", project: `/projects/${given.project}`, connections: "/connections", connection: `/connections/${given.connection}?tools=yes`, grants: "/grants", granting: "/grants/new", runtimes: "/runtimes", tokens: "/tokens", search: "/search?q=note", about: "/about" };
  const faults = [];
  for (const colorScheme of ["light", "dark"])
    for (const width of [1280, 390]) {
      const { page, context, wrong } = await visit(browser, { colorScheme, viewport: { width, height: 844 } });
      for (const [name, address] of Object.entries(pages)) {
        await page.goto(given.url + address);
        for (const fault of await barriers(page)) faults.push(`${name} ${colorScheme} ${width}: ${fault}`);
        await shot(page, `${name}-${colorScheme}-${width}`);
      }
      faults.push(...wrong);
      await context.close();
      const plain = await visit(browser, { colorScheme, viewport: { width, height: 844 }, javaScriptEnabled: false });
      for (const [name, address] of Object.entries(pages)) {
        const answer = await plain.page.goto(given.url + address);
        if (answer.status() !== 200 || !(await plain.page.locator("h1").count())) faults.push(`${name} without a script`);
      }
      await plain.context.close();
    }
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${given.url}/sign-in`);
  for (const fault of await barriers(page)) faults.push(`sign-in: ${fault}`);
  await shot(page, "sign-in");
  await context.close();
  check(faults.length === 0, faults.join("\n"));
}

(async () => {
  const browser = await launch();
  const say = (journey) => console.log(JSON.stringify({ journey }));
  try {
    await unknown(browser); say("unknown");
    const task = await fromNothing(browser); say("from nothing");
    await away(browser); say("away");
    await stop(browser); say("stop");
    await tabs(browser); say("tabs");
    const paint = await long(browser); console.log(JSON.stringify({ journey: "long", first_paint_ms: paint }));
    await artifact(browser); say("artifact");
    await strangers(browser); say("strangers");
    await everywhere(browser, task); say("everywhere");
  } finally {
    await browser.close();
  }
})().catch((error) => { console.error(error.stack || error); process.exit(1); });
