// The work behind the tools of one browser: what a person is asked before an action, the actions themselves, and the report of
// each call with its screenshot. Loaded with the first call, since most programs have no browser.
import { InvalidInput, type ToolContext, type ToolOutput } from '../../engine/ports/index.ts'
import { type OutcomeSource, sourceUri } from '../../language/calls.ts'
import { untilAborted } from '../../lib/async/abort.ts'
import type { JsonObject } from '../../lib/json/index.ts'
import { type Action, actionFault, type SafetyCheck } from './action.ts'
import type { SavedFile } from './downloads.ts'
import { holdsSecrets } from './inspect.ts'
import type { BrowserSettings } from './options.ts'
import { firstImpact, type Performed, perform } from './perform.ts'
import { screenshot } from './screenshot.ts'
import { BrowserSessions } from './sessions.ts'
import type { TabSession } from './tab-session.ts'

/** The most calls whose impact is remembered between the question to a person and the run. The oldest are dropped. */
const mostAsked = 256

export class BrowserTools {
  readonly #settings: BrowserSettings
  readonly #sessions: BrowserSessions
  readonly #asked = new Map<string, string>()

  constructor(settings: BrowserSettings) {
    this.#settings = settings
    this.#sessions = new BrowserSessions(settings)
  }

  /** Why a person has to decide: what the vendor wants checked, and what the page would do. */
  async demand(
    actions: readonly Action[],
    checks: readonly SafetyCheck[],
    { session, callId }: { session: string; callId: string },
  ): Promise<string | undefined> {
    const tab = this.#sessions.find(session)
    const impact = await firstImpact(tab, actions, this.#settings)
    if (impact) this.#asked.set(callId, impact.key)
    else this.#asked.delete(callId)
    for (const oldest of this.#asked.keys()) {
      if (this.#asked.size <= mostAsked) break
      this.#asked.delete(oldest)
    }
    const reasons = checks.map(({ code, message, id }) => `The model's vendor asks: ${message ?? code ?? id}`)
    if (impact) reasons.push(impact.words)
    return reasons.length === 0 ? undefined : reasons.join(' ')
  }

  async run(
    actions: readonly Action[],
    checks: readonly SafetyCheck[],
    context: ToolContext,
  ): Promise<ToolOutput> {
    for (const action of actions) {
      const fault = actionFault(action, this.#settings.display)
      if (fault !== undefined) throw new InvalidInput(fault)
    }
    const allowed = this.#asked.get(context.callId)
    this.#asked.delete(context.callId)
    const { signal } = context
    signal.throwIfAborted()
    const running = this.#sessions.use(context.session, context.connect, async (tab, fresh) => {
      context.signal.throwIfAborted()
      if (fresh) await this.#welcome(tab, actions)
      const performed = await perform(tab, actions, this.#settings, allowed, context.signal)
      return this.#report(tab, performed, actions.length, checks, fresh)
    })
    return untilAborted(running, signal)
  }

  async #welcome(tab: TabSession, actions: readonly Action[]): Promise<void> {
    tab.note('A new browser was started for this session: no page of before is open.')
    const { home } = this.#settings
    if (home === undefined || actions[0]?.action === 'navigate') return
    const page = await tab.pageOrNew()
    await page
      .goto(home, { waitUntil: 'domcontentloaded' })
      .catch(() => tab.note(`${home} could not be opened.`))
  }

  async #report(
    tab: TabSession,
    { done, stopped, why, texts, region, saved, isRefused }: Performed,
    total: number,
    checks: readonly SafetyCheck[],
    fresh: boolean,
  ): Promise<ToolOutput> {
    const page = await tab.pageOrNew()
    tab.holdsSecrets = await holdsSecrets(page)
    const picture = await screenshot(page, this.#settings, region)
    const lines = [
      `Page: ${page.url()}`,
      ...(stopped === undefined ? [] : [`${done} of ${total} actions were done. ${stopped}`]),
      ...tab.takeNotes(),
      ...texts,
      ...(picture === undefined ? ['There is no picture of the page now. Take a screenshot later.'] : []),
    ]
    const notice =
      stopped === undefined ? undefined : `${done} of ${total} actions were done. ${describeNotice(why)}`
    const structured: JsonObject = {
      url: page.url(),
      done,
      ...(fresh && { fresh }),
      // Our own words only: some vendors have no field for text of a page.
      ...(notice !== undefined && { notice }),
      ...(notice === undefined && isRefused && { notice: 'A download was not saved.' }),
      ...(saved.length > 0 && { saved }),
      ...(checks.length > 0 && { acknowledged: checks.map(check => ({ ...check })) }),
    }
    const failed = stopped !== undefined && done === 0
    return {
      parts: [
        { type: 'text', text: lines.join('\n') },
        ...(picture === undefined ? [] : [{ type: 'image' as const, url: picture }]),
      ],
      structured,
      sources: pageSources(page.url(), saved, this.#settings),
      ...(failed && { failed }),
    }
  }

  /** Whether the page has a field for a credential or a payment, by what was read after the last call. */
  holdsSecrets(session: string): boolean | undefined {
    return this.#sessions.find(session)?.holdsSecrets
  }

  close(): Promise<void> {
    return this.#sessions.close()
  }
}

function pageSources(
  address: string,
  saved: readonly SavedFile[],
  { viewport }: BrowserSettings,
): Omit<OutcomeSource, 'at'>[] {
  const page = sourceUri(address)
  const files = saved.flatMap(({ url }) => sourceUri(url) ?? []).map(uri => ({ uri }))
  return [...(page === undefined ? [] : [{ uri: page, viewport: { ...viewport } }]), ...files]
}

const notices: Readonly<Record<NonNullable<Performed['why']>, string>> = {
  submit: 'The next one submits a form, which nobody has allowed. Call it alone: a person is asked.',
  leave: 'The next one leaves the listed hosts, which nobody has allowed. Call it alone: a person is asked.',
  type: 'The next one types a credential or a payment, which nobody has allowed. Call it alone: a person is asked.',
  press: 'The next one may have a high impact, which nobody has allowed. Call it alone: a person is asked.',
  download: 'The next one downloads a file, which nobody has allowed. Call it alone: a person is asked.',
  failed: 'The next one did not work.',
}

const describeNotice = (why: Performed['why']): string => (why === undefined ? '' : notices[why])
