// The browsers of all sessions that use one browser tool: one Chromium, one isolated context for each session, a limit on
// their number, and an end for those that are not used.
import type { Browser } from 'playwright-core'
import type { ToolContext } from '../../engine/ports/index.ts'
import { launchChromium } from './chromium.ts'
import type { BrowserSettings } from './options.ts'
import { BrowserProxy } from './proxy.ts'
import { TabSession } from './tab-session.ts'

type Kept = { tab: TabSession; usedAt: number; busy: number; timer: NodeJS.Timeout | undefined }
type Running = { browser: Browser; proxy: BrowserProxy }

export class BrowserSessions {
  readonly #settings: BrowserSettings
  readonly #kept = new Map<string, Kept>()
  /** Calls of one session follow one another: there is one pointer and one page. */
  readonly #queues = new Map<string, Promise<unknown>>()
  #running: Promise<Running> | undefined
  /** Browsers that are being opened. */
  #opening = 0

  constructor(settings: BrowserSettings) {
    this.#settings = settings
  }

  /** The browser of a session, if it has one. */
  find(session: string): TabSession | undefined {
    const kept = this.#kept.get(session)
    return kept?.tab.isClosed ? undefined : kept?.tab
  }

  /** Runs with the session's browser, one call after the other. `fresh`: it was started for this call. */
  use<Value>(
    session: string,
    connect: ToolContext['connect'],
    run: (tab: TabSession, fresh: boolean) => Promise<Value>,
  ): Promise<Value> {
    const before = this.#queues.get(session) ?? Promise.resolve()
    const mine = before.then(() => this.#use(session, connect, run))
    const settled = mine
      .catch(() => {})
      .then(() => {
        if (this.#queues.get(session) === settled) this.#queues.delete(session)
      })
    this.#queues.set(session, settled)
    return mine
  }

  async #use<Value>(
    session: string,
    connect: ToolContext['connect'],
    run: (tab: TabSession, fresh: boolean) => Promise<Value>,
  ): Promise<Value> {
    const known = this.find(session)
    if (!known) await this.#open(session, connect)
    const kept = this.#kept.get(session)!
    clearTimeout(kept.timer)
    kept.busy += 1
    kept.tab.use(connect)
    try {
      return await run(kept.tab, !known)
    } finally {
      kept.busy -= 1
      kept.usedAt = performance.now()
      kept.timer = setTimeout(() => void this.#drop(session), this.#settings.idleMs).unref()
    }
  }

  async #open(session: string, connect: ToolContext['connect']): Promise<void> {
    this.#opening += 1
    try {
      await this.#makeRoom()
      const { browser, proxy } = await this.#start()
      const tab = new TabSession(this.#settings, proxy)
      tab.use(connect)
      await tab.open(browser)
      this.#kept.set(session, { tab, usedAt: performance.now(), busy: 0, timer: undefined })
    } finally {
      this.#opening -= 1
    }
  }

  async #makeRoom(): Promise<void> {
    for (const [session, { tab }] of this.#kept) if (tab.isClosed) await this.#drop(session)
    while (this.#kept.size + this.#opening > this.#settings.contexts) {
      const resting = [...this.#kept].filter(([, { busy }]) => busy === 0)
      const [oldest] = resting.sort(([, one], [, other]) => one.usedAt - other.usedAt)
      if (!oldest) throw new Error('All browsers are in use. Try again later.')
      await this.#drop(oldest[0])
    }
  }

  async #drop(session: string): Promise<void> {
    const kept = this.#kept.get(session)
    if (!kept || kept.busy > 0) return
    this.#kept.delete(session)
    clearTimeout(kept.timer)
    await kept.tab.close()
    if (this.#kept.size === 0 && this.#opening === 0) await this.#stop()
  }

  #start(): Promise<Running> {
    this.#running ??= this.#launch()
    return this.#running
  }

  async #launch(): Promise<Running> {
    try {
      const proxy = await BrowserProxy.start()
      const browser = await launchChromium(this.#settings, proxy.url).catch((error: unknown) => {
        proxy.close()
        throw error
      })
      browser.on('disconnected', () => {
        proxy.close()
        this.#running = undefined
      })
      return { browser, proxy }
    } catch (error) {
      this.#running = undefined
      throw error
    }
  }

  async #stop(): Promise<void> {
    const running = this.#running
    this.#running = undefined
    const started = await running?.catch(() => undefined)
    await started?.browser.close().catch(() => {})
    started?.proxy.close()
  }

  async close(): Promise<void> {
    for (const [session, kept] of this.#kept) {
      clearTimeout(kept.timer)
      this.#kept.delete(session)
      await kept.tab.close()
    }
    await this.#stop()
  }
}
