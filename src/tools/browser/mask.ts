// Hides password fields, and the elements of the operator's selectors, in pictures and texts of a page. They are
// painted over while the picture is taken, in frames and shadow roots too.
import type { Page } from 'playwright-core'
import type { BrowserSettings } from './options.ts'

const maskSelectors = ({ mask }: Pick<BrowserSettings, 'mask'>): string[] => ['input[type=password]', ...mask]

/** Takes something of the page while it is masked. Rejects if it cannot be masked: then nothing is taken. */
export async function masked<Value>(
  page: Page,
  settings: BrowserSettings,
  take: () => Promise<Value>,
): Promise<Value> {
  const given = JSON.stringify(maskSelectors(settings))
  const undo = (): Promise<unknown> =>
    Promise.all(page.frames().map(frame => frame.evaluate(`(${unmaskRoots.toString()})()`).catch(() => {})))
  try {
    await Promise.all(page.frames().map(frame => frame.evaluate(`(${maskRoots.toString()})(${given})`)))
    return await take()
  } finally {
    await undo()
  }
}

/** The texts of masked elements, longest first: they are removed when the page is read as text. */
export async function maskedTexts(page: Page, settings: BrowserSettings): Promise<string[]> {
  const script = `(${readTexts.toString()})(${JSON.stringify(maskSelectors(settings))})`
  const found = await Promise.all(page.frames().map(frame => frame.evaluate(script)))
  // The function gives a list of texts.
  return (found as string[][]).flat().toSorted((a, b) => b.length - a.length)
}

type Root = {
  adoptedStyleSheets: Sheet[]
  querySelectorAll(selector: string): Iterable<Masked>
}
type Sheet = { insertRule(rule: string): void }
type Masked = { shadowRoot?: Root | null; value?: string; innerText?: string }
/** The page's own global object. */
type PageGlobal = {
  document: Root
  CSSStyleSheet: new () => Sheet
  turnwireMask?: { roots: Root[]; sheet: Sheet } | undefined
}

/** Runs in the page. A selector that is none throws. */
function maskRoots(selectors: readonly string[]): void {
  const page = globalThis as unknown as PageGlobal
  const sheet = new page.CSSStyleSheet()
  const style =
    'background:#000!important;filter:brightness(0)!important;transition:none!important;opacity:1!important'
  for (const selector of selectors) sheet.insertRule(`${selector}{${style}}`)
  const roots: Root[] = [page.document]
  for (const root of roots)
    for (const { shadowRoot } of root.querySelectorAll('*')) if (shadowRoot) roots.push(shadowRoot)
  for (const root of roots) root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet]
  page.turnwireMask = { roots, sheet }
}

/** Runs in the page. */
function unmaskRoots(): void {
  const page = globalThis as unknown as PageGlobal
  const { turnwireMask: given } = page
  page.turnwireMask = undefined
  for (const root of given?.roots ?? [])
    root.adoptedStyleSheets = root.adoptedStyleSheets.filter(sheet => sheet !== given?.sheet)
}

/** Runs in the page. */
function readTexts(selectors: readonly string[]): string[] {
  const { document } = globalThis as unknown as PageGlobal
  const texts: string[] = []
  const roots: Root[] = [document]
  for (const root of roots) {
    for (const { shadowRoot } of root.querySelectorAll('*')) if (shadowRoot) roots.push(shadowRoot)
    for (const element of root.querySelectorAll(selectors.join(',')))
      texts.push(...`${element.value ?? ''}\n${element.innerText ?? ''}`.split('\n').map(line => line.trim()))
  }
  return texts.filter(text => text !== '')
}
