// What an action would do beyond the page itself: submit a form, or lead to another address. It is read from the page before
// anything happens. A page can lie here; so what leaves the page is checked again where it leaves.
import type { Page } from 'playwright-core'
import type { Point } from './action.ts'

/** `submit`: a form goes to `url`. `leave`: a link leads to `url`. `label`: what the page calls it. */
export type Effect = { kind: 'submit' | 'leave'; url: string; method: string; label: string }

type Target = { at: Point } | { focused: true }

/** The effect of a click there, or of Enter in the element that has, or will have, the focus. */
export async function effectOf(
  page: Page,
  target: Target,
  by: 'click' | 'enter',
): Promise<Effect | undefined> {
  const script = `(${readEffect.toString()})(${JSON.stringify({ target, by })})`
  // The function below runs in the page and gives what its type says.
  return (await page.evaluate(script)) as Effect | undefined
}

type PageElement = {
  tagName: string
  type?: string
  shadowRoot?: { elementFromPoint(x: number, y: number): PageElement | null } | null
  form?: PageForm | null
  innerText?: string
  value?: string
  href?: unknown
  control?: PageElement | null
  getAttribute(name: string): string | null
  closest(selector: string): PageElement | null
}
type PageForm = {
  getAttribute(name: string): string | null
  querySelector(selector: string): PageElement | null
}

/** Runs in the page: it uses nothing from outside of itself. */
function readEffect({ target, by }: { target: Target; by: 'click' | 'enter' }): Effect | undefined {
  // Members of the page's own global object.
  const { document } = globalThis as unknown as {
    document: {
      baseURI: string
      activeElement: PageElement | null
      elementFromPoint(x: number, y: number): PageElement | null
    }
  }
  let element = 'at' in target ? document.elementFromPoint(target.at.x, target.at.y) : document.activeElement
  while ('at' in target && element?.shadowRoot) {
    const inner = element.shadowRoot.elementFromPoint(target.at.x, target.at.y)
    if (!inner || inner === element) break
    element = inner
  }
  if (!element) return undefined
  const label = (of: PageElement): string =>
    (of.innerText || of.value || of.getAttribute('aria-label') || of.tagName).trim().slice(0, 80)
  // Attributes, not properties: a field that is named "action" would stand in for the property.
  const submission = (form: PageForm, by: PageElement | null, shown: PageElement): Effect => ({
    kind: 'submit',
    url: new URL(by?.getAttribute('formaction') ?? form.getAttribute('action') ?? '', document.baseURI).href,
    method: (by?.getAttribute('formmethod') ?? form.getAttribute('method') ?? 'get').toUpperCase(),
    label: label(shown),
  })
  const submitter = 'button:not([type]),button[type=submit],input[type=submit],input[type=image]'
  if (by === 'enter') {
    const isField =
      element.tagName === 'INPUT' && !['button', 'checkbox', 'radio'].includes(element.type ?? '')
    const isButton = element.closest(submitter) !== null
    if (!element.form || !(isField || isButton)) return undefined
    return submission(element.form, element.form.querySelector(submitter), element)
  }
  const labelled = element.closest('label')?.control
  const button = (labelled ?? element).closest(submitter)
  if (button?.form) return submission(button.form, button, button)
  const link = element.closest('a[href],area[href]')
  if (!link) return undefined
  // Of a link inside an SVG it is an object.
  const href = typeof link.href === 'string' ? link.href : (link.getAttribute('href') ?? '')
  return { kind: 'leave', url: new URL(href, document.baseURI).href, method: 'GET', label: label(link) }
}
