// Drives the playground in Chromium, for test.py: node drive.mjs ADDRESS CHROMIUM CASES SCREENSHOTS, results on standard output.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import puppeteer from "puppeteer-core";

const [address, executablePath, cases, screenshots] = process.argv.slice(2);
const LIMIT = 180_000; // ms without any progress; the machine may be shared
const browser = await puppeteer.launch({ executablePath, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
try {
  const page = await browser.newPage();
  page.setDefaultTimeout(LIMIT);
  const foreign = [];
  page.on("request", (request) => {
    if (!request.url().startsWith(address) && !request.url().startsWith("data:")) foreign.push(request.url());
  });
  await page.evaluateOnNewDocument(() => {
    window.events = [];
    document.addEventListener("checked", (event) => window.events.push(event.detail));
  });
  // Runs an action and returns the next check that it leads to.
  const checked = async (action, ...values) => {
    await page.evaluate(() => window.events.splice(0));
    await action(...values);
    await page.waitForFunction(() => window.events.length > 0, { timeout: LIMIT, polling: 20 });
    return page.evaluate(() => window.events.at(-1));
  };
  const text = () => page.evaluate(() => window.playground.text());
  const set = (yaml, natives) => page.evaluate((yaml, natives) => {
    window.playground.set(yaml, natives);
    window.playground.recheck();
  }, yaml, natives);

  await page.setViewport({ width: 1280, height: 1000 });
  // the home page, for its requests and a screenshot
  await page.goto(address, { waitUntil: "networkidle0" });
  await page.screenshot({ path: join(screenshots, "home.png") });
  const start = Date.now();
  await page.goto(`${address}playground/`);
  await page.waitForFunction(() => window.events.length > 0, { timeout: LIMIT, polling: 50 });
  const cold = Date.now() - start;
  const first = await page.evaluate(() => window.events[0]);
  if (first.error) throw new Error(first.error);
  await page.screenshot({ path: join(screenshots, "desktop.png") });

  // what a person types
  await page.click("#editor .cm-content");
  const edits = [];
  for (const key of ["Enter", "Backspace", "Enter", "Backspace"]) {
    edits.push((await checked(() => page.keyboard.press(key))).ms);
  }
  // hover over what is underlined, and take the fix in the tooltip
  const before = await text();
  await (await page.waitForSelector("#findings button + *")).evaluate(() => {});
  const fix = await checked(async () => {
    const button = (await page.$$("#findings li > button"))[0];
    await button.click();
  });
  const fixed = { before, after: await text(), first: first.findings.length, left: fix.findings.length };
  const squiggle = await page.$(".cm-lintRange");
  await squiggle.scrollIntoView();
  await squiggle.hover();
  const tooltip = await (await page.waitForSelector(".cm-tooltip-lint")).evaluate((node) => node.textContent);

  // of the entry with the first finding
  await page.click("#findings li p button");
  const tabs = {};
  for (const name of ["suggest", "model", "cpp", "python", "derive"]) {
    await page.click(`#tabs [data-tab=${name}]`);
    await page.waitForFunction(() => document.getElementById("output").textContent !== "", { timeout: LIMIT });
    tabs[name] = await page.$eval("#output", (node) => node.textContent);
  }
  await page.screenshot({ path: join(screenshots, "derivative.png") });
  await page.click("#tabs [data-tab=findings]");

  const results = [];
  for (const [yaml, natives] of JSON.parse(await readFile(cases, "utf-8"))) {
    const event = await checked(set, yaml, natives);
    results.push({ typed: await text(), findings: event.findings, error: event.error ?? null });
  }

  // a link that carries the text, opened on a phone
  await checked(set, "- name: sinh(Tensor self) -> Tensor\n  self: gard\n", "");
  // from under the header, which stays where it is
  await page.evaluate(() => window.scrollTo(0, 0));
  await page.click("#share");
  await page.waitForFunction(() => location.hash.length > 1);
  const link = page.url();
  await page.goto("about:blank");
  await page.setViewport({ width: 390, height: 844, isMobile: true, hasTouch: true });
  await page.goto(link);
  await page.waitForFunction(() => window.events.length > 0, { timeout: LIMIT, polling: 50 });
  const phone = {
    text: await text(),
    findings: (await page.evaluate(() => window.events[0])).findings.length,
    overflow: await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth),
  };
  await page.screenshot({ path: join(screenshots, "phone.png") });
  console.log(JSON.stringify({ cold, edits, fixed, tooltip, tabs, results, phone, foreign }));
} finally {
  await browser.close();
}
