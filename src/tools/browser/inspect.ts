// Finds the effect of an action beyond the page itself: it submits a form, leads to another address, presses a button
// that spends or deletes, or types into a field for a credential or a payment. The effect is read from the page before
// the action is done. A page can lie, so its requests are checked again when they leave the browser.
import type { ElementHandle, Frame, Page } from 'playwright-core'
import type { Point } from './action.ts'
import type { AskBefore } from './options.ts'

/** The kind of secret that a field takes. */
export type Sensitive = 'credentials' | 'payment'

/**
 * `submit`: a form goes to `url`. `leave`: a link leads to `url`. `press`: something else is pressed. `type`: something is typed
 * into a field of the page `url`. `label`: what the page calls it. `sensitive`: of the field, or of a field of the form.
 */
export type Effect = {
  kind: 'submit' | 'leave' | 'press' | 'type'
  url: string
  method: string
  label: string
  sensitive?: Sensitive | undefined
  /** The link says that it downloads. */
  downloads?: boolean
}

type Target = { at: Point } | { focused: true }
type By = 'click' | 'enter' | 'type'
type Inner = { frame: Point }

/** Patterns for the names and labels of fields: standard `autocomplete` values, and common words of pages. */
const fieldNames: Record<Sensitive, string> = {
  credentials:
    'passw|passphrase|passcode|kennwort|contrase|mot de passe|secret|\\b(?:otp|totp|2fa|pin|mfa|ssn)\\b|one.?time|verification.?code|api.?key|access.?token|current-password|new-password',
  payment:
    '\\bcc-|card.?(?:num|no\\b)|credit.?card|debit.?card|kreditkarte|\\b(?:cvc|cvv|csc|iban|bic)\\b|security.?code|expir|routing.?num|sort.?code|account.?num',
}

/** Buttons and links that spend, delete or bind. Words of the languages that pages have most. */
const impactWords =
  /\b(?:pay|buy|purchase|checkout|check out|order now|place (?:your |my |the )?order|subscribe|donate|transfer|withdraw|bid|delete|erase|remove account|deactivate|terminate|(?:close|cancel) (?:\w+ )?(?:account|subscription|membership|order|booking)|authori[sz]e|grant access|revoke|publish|kaufen|bestellen|bezahlen|überweisen|löschen|kündigen|payer|acheter|commander|supprimer|résilier|pagar|comprar|eliminar|borrar)\b/iu
/** The same of a target: words of its path and query. */
const impactTargets =
  /[/?&=_-](?:pay|buy|purchase|checkout|order-now|subscribe|donate|transfer|withdraw|delete|destroy|erase|deactivate|terminate|revoke|unsubscribe)(?:[/?&=_.-]|$)/i

export function isHighImpact(
  { label, url, kind }: Effect,
  { impact = true, matching = [] }: AskBefore,
): boolean {
  const target = kind === 'press' ? '' : url.replace(/^[a-z]+:\/\/[^/]*/i, '')
  if (impact && (impactWords.test(label) || impactTargets.test(target))) return true
  // A pattern with the flag g would begin where it ended the last time.
  return matching.some(pattern => label.search(pattern) >= 0 || target.search(pattern) >= 0)
}

/** The effect of a click there, or of Enter or text in the element that has, or will have, the focus. Frames are looked into. */
export async function inspectEffect(page: Page | Frame, target: Target, by: By): Promise<Effect | undefined> {
  const script = inPage(`readEffect(${[target, by, fieldNames].map(each => JSON.stringify(each)).join()})`)
  // The function below runs in the page and gives what its type says.
  const found = (await page.evaluate(script)) as Effect | Inner | undefined
  if (!found || !('frame' in found)) return found
  const place = 'at' in target ? `elementFromPoint(${target.at.x}, ${target.at.y})` : 'activeElement'
  // An element, since it was one a moment ago; its type would be one of the page's.
  const element = (await page.evaluateHandle(`document.${place}`)).asElement() as ElementHandle | null
  const frame = await element?.contentFrame()
  if (!frame) return undefined
  const inside =
    'at' in target ? { at: { x: target.at.x - found.frame.x, y: target.at.y - found.frame.y } } : target
  return inspectEffect(frame, inside, by)
}

/** An expression with what it calls, so that it can be evaluated in a page. */
function inPage(expression: string): string {
  const functions = [findElement, findSensitivity, elementLabel, readTyping, readEffect, readHolds]
  return `(() => { ${functions.join('\n')}\nreturn ${expression} })()`
}

/** Whether a field of the page, or of its frames, is for a credential or a payment. True also if that cannot be read. */
export async function holdsSecrets(page: Page): Promise<boolean> {
  const script = inPage(`readHolds(${JSON.stringify(fieldNames)})`)
  try {
    const found = await Promise.all(page.frames().map(frame => frame.evaluate(script)))
    return found.some(held => held === true)
  } catch {
    return true
  }
}

type PageRoot = {
  querySelectorAll(selector: string): Iterable<PageElement>
  elementFromPoint(x: number, y: number): PageElement | null
  activeElement: PageElement | null
}
type PageElement = {
  tagName: string
  type?: string
  shadowRoot?: PageRoot | null
  labels?: ArrayLike<PageElement> | null
  title?: string
  alt?: string
  getBoundingClientRect(): { left: number; top: number }
  clientLeft: number
  clientTop: number
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
  querySelectorAll(selector: string): Iterable<PageElement>
}

// ---- in the page: each of these is sent there by its text, and uses only the others and what it is given ----------------

function findElement(target: Target): PageElement | null {
  // A member of the page's own global object.
  const { document } = globalThis as unknown as { document: PageRoot }
  const within = (root: PageRoot): PageElement | null =>
    'at' in target ? root.elementFromPoint(target.at.x, target.at.y) : root.activeElement
  let element = within(document)
  while (element?.shadowRoot) {
    const inner = within(element.shadowRoot)
    if (!inner || inner === element) break
    element = inner
  }
  return element
}

function findSensitivity(field: PageElement, names: Record<Sensitive, string>): Sensitive | undefined {
  const called = ['name', 'id', 'autocomplete', 'placeholder', 'aria-label'].map(name =>
    field.getAttribute(name),
  )
  const text = [...called, ...Array.from(field.labels ?? []).map(of => of.innerText ?? '')].join(' ')
  if (new RegExp(names.payment, 'i').test(text)) return 'payment'
  const isSecret = field.type === 'password' || new RegExp(names.credentials, 'i').test(text)
  return isSecret ? 'credentials' : undefined
}

function elementLabel(element: PageElement): string {
  const { innerText, value, title, alt, tagName } = element
  const label = innerText || element.getAttribute('aria-label') || value || title || alt || tagName
  return label.trim().slice(0, 80)
}

function readTyping(element: PageElement, url: string, names: Record<Sensitive, string>): Effect {
  const field = element.closest('label')?.control ?? element
  const text = Array.from(field.labels ?? [])[0]?.innerText ?? field.getAttribute('aria-label')
  const named = text || field.getAttribute('placeholder') || field.getAttribute('name') || field.tagName
  const sensitive = findSensitivity(field, names)
  return { kind: 'type', url, method: '', label: named.trim().slice(0, 80), sensitive }
}

function readEffect(target: Target, by: By, names: Record<Sensitive, string>): Effect | Inner | undefined {
  // Members of the page's own global object.
  const { document, location } = globalThis as unknown as {
    document: { baseURI: string }
    location: { href: string }
  }
  const element = findElement(target)
  if (!element) return undefined
  if (element.tagName === 'IFRAME' || element.tagName === 'FRAME') {
    const { left, top } = element.getBoundingClientRect()
    return { frame: { x: left + element.clientLeft, y: top + element.clientTop } }
  }
  if (by === 'type') return readTyping(element, location.href, names)
  // Attributes, not properties: a field that is named "action" would stand in for the property.
  const submission = (form: PageForm, by: PageElement | null, shown: PageElement): Effect => ({
    kind: 'submit',
    url: new URL(by?.getAttribute('formaction') ?? form.getAttribute('action') ?? '', document.baseURI).href,
    method: (by?.getAttribute('formmethod') ?? form.getAttribute('method') ?? 'get').toUpperCase(),
    label: elementLabel(shown),
    sensitive: Array.from(form.querySelectorAll('input,textarea'))
      .map(field => findSensitivity(field, names))
      .find(found => found !== undefined),
  })
  const press = (of: PageElement): Effect => ({
    kind: 'press',
    url: location.href,
    method: '',
    label: elementLabel(of),
  })
  const pressed =
    'button,summary,[role=button],[role=link],[role=menuitem],[onclick],input[type=button],input[type=image]'
  const submitter = 'button:not([type]),button[type=submit],input[type=submit],input[type=image]'
  if (by === 'enter') {
    const isField =
      element.tagName === 'INPUT' && !['button', 'checkbox', 'radio'].includes(element.type ?? '')
    const isButton = element.closest(submitter) !== null
    if (!element.form || !(isField || isButton)) {
      const active = element.closest(`${pressed},a[href]`)
      return active ? press(active) : undefined
    }
    return submission(element.form, element.form.querySelector(submitter), element)
  }
  const labelled = element.closest('label')?.control
  const button = (labelled ?? element).closest(submitter)
  if (button?.form) return submission(button.form, button, button)
  const link = element.closest('a[href],area[href]')
  if (!link) {
    const active = element.closest(pressed) ?? element
    // Any element may be a button by a script. A long text is no label.
    return (active.innerText ?? '').length <= 80 ? press(active) : undefined
  }
  // Of a link inside an SVG it is an object.
  const href = typeof link.href === 'string' ? link.href : (link.getAttribute('href') ?? '')
  const downloads = link.getAttribute('download') !== null
  const { href: url } = new URL(href, document.baseURI)
  return { kind: 'leave', url, method: 'GET', label: elementLabel(link), downloads }
}

function readHolds(names: Record<Sensitive, string>): boolean {
  // A member of the page's own global object.
  const { document } = globalThis as unknown as { document: PageRoot }
  const roots: PageRoot[] = [document]
  for (const root of roots)
    for (const element of root.querySelectorAll('*')) {
      if (element.shadowRoot) roots.push(element.shadowRoot)
      const isField = element.tagName === 'INPUT' || element.tagName === 'TEXTAREA'
      if (isField && element.type !== 'hidden' && findSensitivity(element, names)) return true
    }
  return false
}
