// The browser of one session: an isolated context with its pages, the hosts that it may reach, and notes on events that
// the model did not ask for. It knows pages; perform.ts decides what a call may do.
import { randomBytes } from 'node:crypto'
import type { Browser, BrowserContext, Page, Request, Route } from 'playwright-core'
import type { ToolContext } from '../../engine/ports/index.ts'
import { isListedHost } from '../../lib/net/egress.ts'
import { printable } from '../../lib/text/index.ts'
import { Downloads } from './downloads.ts'
import { type BrowserSettings, isPageAddress } from './options.ts'
import type { BrowserProxy } from './proxy.ts'

/** How long an action that may send a form is waited for. */
const longestSending = 2_000
const mostPages = 4
const mostNotes = 12

export class TabSession {
  readonly #settings: BrowserSettings
  readonly #proxy: BrowserProxy
  readonly #credentials = { username: 'context', password: randomBytes(24).toString('base64url') }
  readonly #allowed = new Set<string>()
  #connect: ToolContext['connect']
  #context: BrowserContext | undefined
  #pages: Page[] = []
  /** Hosts that pages have asked for. */
  readonly #wanted = new Set<string>()
  #notes: string[] = []
  /** The newest page is watched for downloads. */
  #attached: Promise<void> | undefined
  /** The current action may send a form to this address. `led`: it led to a page. */
  #posting: { address: string; led: () => void } | undefined
  readonly downloads: Downloads
  /** Where the pointer is, on the page. */
  pointer = { x: 0, y: 0 }
  isClosed = false
  /** The page has a field for a credential or a payment, or it is not known whether it has. */
  holdsSecrets = true

  constructor(settings: BrowserSettings, proxy: BrowserProxy) {
    this.#settings = settings
    this.#proxy = proxy
    this.downloads = new Downloads(settings, text => this.note(text))
  }

  async open(browser: Browser): Promise<void> {
    const { viewport } = this.#settings
    this.#proxy.admit(this.#credentials.password, {
      connect: url => {
        if (!this.#connect) return Promise.reject(new Error('The browser reaches nothing here.'))
        const { hosts } = this.#settings
        // Chromium asks for things of its own. They are not worth a line in the log.
        if (!this.#wanted.has(url.host) && !this.isListed(url))
          return Promise.reject(new Error('No page asked for it.'))
        return this.#connect(url, hosts && [...hosts, ...this.#allowed])
      },
      // Chromium asks for things of its own, of which no page knows.
      refused: (host, reason) => {
        if (this.#wanted.has(host)) this.note(`A connection to ${host} was refused: ${reason}`)
      },
    })
    const context = await browser.newContext({
      viewport,
      acceptDownloads: false,
      serviceWorkers: 'block',
      permissions: [],
      proxy: { server: this.#proxy.url, ...this.#credentials },
    })
    this.#context = context
    context.setDefaultTimeout(this.#settings.settleMs)
    context.on('page', page => this.#adopt(page))
    context.on('close', () => {
      this.isClosed = true
    })
    await context.route('**/*', (route, request) => this.#judge(route, request))
    await context.newPage()
    await this.#attached
  }

  async close(): Promise<void> {
    this.isClosed = true
    this.#proxy.dismiss(this.#credentials.password)
    await this.#context?.close().catch(() => {})
  }

  /** The connections of the latest call serve until the next one: pages go on loading between calls. */
  use(connect: ToolContext['connect']): void {
    this.#connect = connect
  }

  get page(): Page {
    const page = this.#pages.at(-1)
    if (!page) throw new Error('The browser has no page any more. Navigate somewhere.')
    return page
  }

  /** Of the page; empty if there is none. */
  get address(): string {
    return this.#pages.at(-1)?.url() ?? ''
  }

  async pageOrNew(): Promise<Page> {
    if (this.#pages.length === 0) await this.#context?.newPage()
    await this.#attached
    return this.page
  }

  /** Something that the model did not ask for, said with the next result. */
  note(text: string): void {
    const shown = printable(text, 300)
    if (this.#notes.length < mostNotes && !this.#notes.includes(shown)) this.#notes.push(shown)
  }

  takeNotes(): string[] {
    const notes = this.#notes
    this.#notes = []
    return notes
  }

  isListed(url: URL): boolean {
    const { hosts } = this.#settings
    return !hosts || isListedHost(url, [...hosts, ...this.#allowed])
  }

  /** A person has allowed this host for the rest of the session's browser. */
  allow(url: URL): void {
    this.#allowed.add(url.port === '' ? url.hostname : url.host)
  }

  /**
   * Runs an action that may send a form to this address. It is over when the form was answered: on a busy machine a page may begin
   * to send it only a while after the click. A form that a script sends leads to no page.
   */
  async posting<Value>(address: string, run: () => Promise<Value>): Promise<Value> {
    const led = Promise.withResolvers<void>()
    this.#posting = { address: withoutFragment(address), led: led.resolve }
    const late = setTimeout(led.resolve, longestSending)
    try {
      const value = await run()
      await led.promise
      await this.#pages
        .at(-1)
        ?.waitForLoadState('domcontentloaded', { timeout: longestSending })
        .catch(() => {})
      return value
    } finally {
      clearTimeout(late)
      this.#posting = undefined
    }
  }

  #adopt(page: Page): void {
    if (this.#pages.length >= mostPages) {
      this.note('The page opened another window, which was closed: there are too many.')
      void page.close().catch(() => {})
      return
    }
    if (this.#pages.length > 0) this.note('A new window was opened. It is the one that you see now.')
    this.#pages.push(page)
    page.on('close', () => {
      this.#pages = this.#pages.filter(other => other !== page)
    })
    page.on('crash', () => {
      this.note('The page crashed and was closed.')
      void page.close().catch(() => {})
    })
    page.on('dialog', dialog => {
      // The action asked to leave the page.
      const isAccepted = dialog.type() === 'beforeunload'
      const answer = isAccepted ? 'accepted' : 'dismissed'
      this.note(`The page showed a ${dialog.type()} that was ${answer}: "${dialog.message()}"`)
      void (isAccepted ? dialog.accept() : dialog.dismiss()).catch(() => {})
    })
    // A window that is gone already has no answers to hold.
    this.#attached = this.downloads.attach(page, this.#credentials).catch(() => {})
    page.on('websocket', socket => this.#want(socket.url()))
    page.on('filechooser', () => this.note('The page asked for a file. Files are not uploaded.'))
    page.on('framenavigated', frame => {
      if (frame !== page.mainFrame() || frame.url() === 'about:blank' || isPageAddress(frame.url())) return
      if (frame.url().startsWith('chrome-error:')) return
      this.note(`The page led to ${frame.url()}, which is not shown.`)
      void page.goto('about:blank').catch(() => {})
    })
  }

  /** Hosts are checked by the proxy too; here the model can be told of it, and forms are seen. */
  async #judge(route: Route, request: Request): Promise<void> {
    try {
      this.#want(request.url())
      const refusal = request.isNavigationRequest() ? this.#findRefusal(request) : undefined
      if (refusal !== undefined) this.note(refusal)
      const { led } = this.#posting ?? {}
      if (led && request.isNavigationRequest()) request.response().then(led, led)
      await (refusal === undefined ? route.continue() : route.abort('blockedbyclient'))
    } catch {
      // The page that asked is gone.
    }
  }

  #want(address: string): void {
    const host = URL.parse(address)?.host
    if (host && this.#wanted.size < 1_000) this.#wanted.add(host)
  }

  #findRefusal(request: Request): string | undefined {
    const url = URL.parse(request.url())
    if (!url || !isPageAddress(url.href)) return `The page led to ${request.url()}, which is not opened.`
    if (!this.isListed(url))
      return `The page led to ${url.origin}, which is not on the list of hosts. Navigate there to ask a person.`
    const method = request.method()
    if (!this.#settings.askBeforeSubmit || method === 'GET' || method === 'HEAD') return undefined
    if (this.#posting?.address === withoutFragment(url.href)) return undefined
    return `The page wanted to send a form to ${url.href}, which nobody has allowed. Click the button that sends it to ask a person.`
  }
}

const withoutFragment = (address: string): string => address.replace(/#.*$/, '')
