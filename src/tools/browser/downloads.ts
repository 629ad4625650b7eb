// Downloads of one session's browser. Chromium itself saves nothing: it would write a file before its size is known. The answer
// to a request for a page is held while its headers are read. A download that nobody allowed is cancelled there; an allowed one
// is read in pieces by us, and cut at the limit. It knows addresses and files; the question is asked in perform.ts.
import { randomBytes } from 'node:crypto'
import { type FileHandle, mkdir, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { CDPSession, Page } from 'playwright-core'
import { errorMessage } from '../../lib/text/error-message.ts'
import { printable } from '../../lib/text/index.ts'
import type { Action } from './action.ts'
import type { BrowserSettings } from './options.ts'

export type SavedFile = { url: string; path: string; bytes: number }

/** An action that is being done, with what came of it. `allowed`: a person allowed it to download from there. */
export class DownloadWatch {
  readonly allowed: URL | undefined
  readonly signal: AbortSignal
  readonly saved: SavedFile[] = []
  /** Addresses of downloads that it began, also of those that were refused. */
  readonly begun = new Set<string>()
  /** A download was not saved. */
  isRefused = false
  readonly work: Promise<void>[] = []
  readonly first = Promise.withResolvers<void>()

  constructor(allowed: URL | undefined, signal: AbortSignal) {
    this.allowed = allowed
    this.signal = signal
  }
}

/** A held answer, as Chromium describes it. */
type Held = {
  requestId: string
  networkId?: string | undefined
  responseErrorReason?: string | undefined
  request: { url: string }
  responseStatusCode?: number | undefined
  responseHeaders?: { name: string; value: string }[] | undefined
}

const mostKnown = 256
/** Chromium tells of such a download only after it began. */
const elsewhere = 'It began in a window of its own. Navigate to its address instead: a person is asked.'
const pieceBytes = 256 * 1024
/** An action waits this long for the answers to its requests. */
const longestAsked = 5_000
const mostAsked = 100
const passive: ReadonlySet<Action['action']> = new Set([
  'screenshot',
  'cursor_position',
  'move',
  'wait',
  'zoom',
  'read',
])

export class Downloads {
  readonly #settings: BrowserSettings
  readonly #note: (text: string) => void
  /** Actions and addresses that led to a download, with its address. */
  readonly #known = new Map<string, string>()
  #watch: DownloadWatch | undefined
  /** The latest action that can have caused a download, and the page where it was done. */
  #cause = ''
  /** Requests for documents that have no answer yet. */
  readonly #asked = new Map<string, PromiseWithResolvers<void>>()

  constructor(settings: BrowserSettings, note: (text: string) => void) {
    this.#settings = settings
    this.#note = note
  }

  /** Holds the answers to this page's requests for documents. `proxy`: the credentials for it. */
  async attach(page: Page, proxy: { username: string; password: string }): Promise<void> {
    page.on('download', download => {
      void download.cancel().catch(() => {})
      const url = download.url()
      if (!this.#watch?.begun.has(url)) this.#refuse(url, this.#reason(url) ?? elsewhere)
    })
    const session = await page.context().newCDPSession(page)
    session.on('Fetch.authRequired', ({ requestId, authChallenge }) => {
      const isProxy = authChallenge.source === 'Proxy'
      const authChallengeResponse = isProxy
        ? { response: 'ProvideCredentials' as const, ...proxy }
        : { response: 'CancelAuth' as const }
      void session.send('Fetch.continueWithAuth', { requestId, authChallengeResponse }).catch(() => {})
    })
    session.on('Fetch.requestPaused', held => void this.#judge(session, held))
    // Chromium asks for credentials only where requests are held too.
    await session.send('Fetch.enable', {
      handleAuthRequests: true,
      patterns: (['Request', 'Response'] as const).map(requestStage => ({
        requestStage,
        resourceType: 'Document' as const,
      })),
    })
  }

  /** The address that this action downloaded from before, on this page. `url`: where it leads, if that is known. */
  expected(page: string, action: Action, url: string | undefined): string | undefined {
    return this.#known.get(signature(page, action)) ?? this.#known.get(withoutFragment(url ?? ''))
  }

  /** Does an action. If it was allowed to download, it ends when the file is saved, or when nothing came. */
  async watch(
    page: string,
    action: Action,
    { allowed, signal, run }: { allowed: string | undefined; signal: AbortSignal; run: () => Promise<void> },
  ): Promise<DownloadWatch> {
    const watch = new DownloadWatch(URL.parse(allowed ?? '') ?? undefined, signal)
    this.#watch = watch
    if (!passive.has(action.action)) this.#cause = signature(page, action)
    try {
      await run()
    } catch (error) {
      // A page that turns out to be a download is not opened, which Chromium reports as a failure.
      if (watch.begun.size === 0) throw error
      await Promise.all(watch.work)
      if (watch.isRefused) throw new Error('it leads to a download', { cause: error })
    }
    if (!passive.has(action.action)) await this.#answered()
    if (watch.allowed && watch.begun.size === 0) await this.#firstDownload(watch)
    await Promise.all(watch.work)
    signal.throwIfAborted()
    return watch
  }

  /** Waits for the answers to open requests: only the answer's headers show whether it is a download. */
  async #answered(): Promise<void> {
    const late = Promise.withResolvers<void>()
    const timer = setTimeout(late.resolve, Math.min(this.#settings.settleMs, longestAsked))
    await Promise.race([Promise.all([...this.#asked.values()].map(({ promise }) => promise)), late.promise])
    clearTimeout(timer)
    this.#asked.clear()
  }

  async #firstDownload({ first, signal }: DownloadWatch): Promise<void> {
    const timer = setTimeout(() => {
      this.#note('No download came of it.')
      first.resolve()
    }, this.#settings.settleMs)
    const stop = (): void => first.resolve()
    signal.addEventListener('abort', stop, { once: true })
    await first.promise
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
  }

  async #judge(session: CDPSession, held: Held): Promise<void> {
    const { requestId, networkId = '' } = held
    const { url } = held.request
    try {
      if (!isOver(held)) this.#asked.set(networkId, Promise.withResolvers())
      const watch = this.#watch
      const isKnown = watch?.allowed?.href === withoutFragment(url)
      if (!isDownload(held) && !(isKnown && isAnswer(held))) {
        await session.send('Fetch.continueRequest', { requestId })
        return
      }
      watch?.begun.add(url)
      const refusal = this.#reason(url)
      if (refusal === undefined && watch) {
        const saving = this.#save(session, held, watch)
        watch.work.push(saving)
        watch.first.resolve()
        await saving
      } else this.#refuse(url, refusal ?? elsewhere)
      await session.send('Fetch.failRequest', { requestId, errorReason: 'Aborted' })
    } catch {
      // The page that asked is gone.
    } finally {
      if (isOver(held)) this.#asked.get(networkId)?.resolve()
      if (isOver(held) || this.#asked.size > mostAsked) this.#asked.delete(networkId)
    }
  }

  /** Why it is not saved. Undefined: it may be. */
  #reason(address: string): string | undefined {
    const { downloads, askBefore } = this.#settings
    const allowed = askBefore.downloads === false ? this.#watch : this.#watch?.allowed
    const url = URL.parse(address)
    if (!downloads)
      return 'browser() has no folder for downloads. Its option downloads: { folder } names one.'
    if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
      return 'The page made the file itself, and such files are not saved.'
    if (allowed instanceof DownloadWatch) return undefined
    if (allowed?.origin === url.origin && this.#watch?.work.length === 0) return undefined
    return 'Nobody has allowed it. Call the same action again, alone: a person is asked.'
  }

  #refuse(url: string, reason: string): void {
    this.#note(`A download of ${printable(url, 120)} was refused: ${reason}`)
    const watch = this.#watch
    if (!watch) return
    watch.begun.add(url)
    watch.isRefused = true
    watch.first.resolve()
    for (const key of [this.#cause, withoutFragment(url)]) this.#known.set(key, withoutFragment(url))
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= mostKnown) break
      this.#known.delete(oldest)
    }
  }

  async #save(session: CDPSession, held: Held, watch: DownloadWatch): Promise<void> {
    const { url } = held.request
    const { folder = '', maxBytes = 0 } = this.#settings.downloads ?? {}
    let file: { handle: FileHandle; path: string } | undefined
    try {
      if (Number(header(held, 'content-length')) > maxBytes) throw tooLarge(maxBytes)
      const { stream } = await session.send('Fetch.takeResponseBodyAsStream', { requestId: held.requestId })
      file = await createFile(folder, fileName(header(held, 'content-disposition'), url))
      let bytes = 0
      for (let isEnd = false; !isEnd; ) {
        watch.signal.throwIfAborted()
        const { data, eof, base64Encoded } = await session.send('IO.read', {
          handle: stream,
          size: pieceBytes,
        })
        const piece = Buffer.from(data, base64Encoded ? 'base64' : 'utf8')
        bytes += piece.length
        if (bytes > maxBytes) throw tooLarge(maxBytes)
        await file.handle.write(piece)
        isEnd = eof
      }
      await file.handle.close()
      watch.saved.push({ url, path: file.path, bytes })
      this.#note(`The download was saved as ${file.path}: ${bytes} bytes.`)
    } catch (error) {
      await file?.handle.close().catch(() => {})
      if (file) await rm(file.path, { force: true }).catch(() => {})
      watch.isRefused = true
      this.#note(`A download of ${printable(url, 120)} was not saved: ${printable(errorMessage(error), 150)}`)
    }
  }
}

function tooLarge(maxBytes: number): Error {
  return new Error(`It is larger than ${maxBytes} bytes.`)
}

const signature = (page: string, action: Action): string => `${page} ${JSON.stringify(action)}`

const withoutFragment = (address: string): string => address.replace(/#.*$/, '')

const isOver = ({ responseStatusCode: status, responseErrorReason: error }: Held): boolean =>
  (status !== undefined && (status < 300 || status >= 400)) || error !== undefined
const isAnswer = ({ responseStatusCode: status = 0 }: Held): boolean => status >= 200 && status < 300

/** Types that Chromium does not show. If it downloads another one, it says so itself. */
const savedTypes =
  /^\s*application\/(?!pdf\b|unknown\b|(?:[\w.-]+\+)?(?:json|xml)\b|(?:x-)?(?:java|ecma)script\b)/i

function isDownload(held: Held): boolean {
  if (!isAnswer(held)) return false
  if (/^\s*attachment\b/i.test(header(held, 'content-disposition'))) return true
  return savedTypes.test(header(held, 'content-type'))
}

function header({ responseHeaders = [] }: Held, wanted: string): string {
  return responseHeaders.find(({ name }) => name.toLowerCase() === wanted)?.value ?? ''
}

/** The name that the server gives, without anything that leads elsewhere or hides the file. */
export function fileName(disposition: string, address: string): string {
  const [, encoded] = /filename\*\s*=\s*(?:utf-8|iso-8859-1)'[^']*'([^;\s]+)/i.exec(disposition) ?? []
  const [, quoted, bare] = /filename\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;\s]+))/i.exec(disposition) ?? []
  const given = decoded(encoded) ?? quoted?.replace(/\\(.)/g, '$1') ?? bare
  const name = given ?? decoded(URL.parse(address)?.pathname) ?? ''
  const last = name.split(/[/\\]/).at(-1) ?? ''
  const plain = last.replace(/[\p{C}\p{Zl}\p{Zp}<>:"|?*]/gu, '_').replace(/^[.\s]+|[.\s]+$/g, '')
  const [, stem = '', ending = ''] = /^(.*?)(\.\w{1,12})?$/su.exec(plain) ?? []
  return `${stem.slice(0, 100) || 'download'}${ending}`
}

function decoded(text: string | undefined): string | undefined {
  try {
    return text === undefined ? undefined : decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** Creates a new file. An existing file is never overwritten. */
async function createFile(folder: string, name: string): Promise<{ handle: FileHandle; path: string }> {
  await mkdir(folder, { recursive: true })
  for (const each of [name, `${randomBytes(6).toString('hex')}-${name}`]) {
    const path = join(folder, each)
    try {
      return { handle: await open(path, 'wx', 0o600), path }
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    }
  }
  throw new Error(`There is a file named ${name}.`)
}
