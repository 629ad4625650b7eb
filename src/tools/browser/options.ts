// The operator's settings for browsers: which pages, how large, how many, and how Chromium is started.
import { TurnwireError } from '../../language/errors.ts'
import { isHostPattern } from '../../lib/net/egress.ts'

export type AskBefore = {
  /** Typing into fields for passwords and codes, and forms that have such fields. Default true. */
  credentials?: boolean
  /** The same for cards and bank accounts. Default true. */
  payment?: boolean
  /** Buttons and links whose text or target speaks of paying, deleting and the like. Default true. */
  impact?: boolean
  /** Downloads. Default true. */
  downloads?: boolean
  /** Further buttons and links, by their text or target. */
  matching?: readonly RegExp[]
}

export type BrowserOptions = {
  /**
   * Hosts whose pages may be opened: `shop.example`, `*.example.com`, either with `:port`. Others are opened only if a
   * person allows it. Within the egress rule of the configuration in any case. Absent: every host of that rule.
   */
  hosts?: readonly string[]
  /** The page that a new browser opens. */
  home?: string
  /** The size of the display that the model is told, in pixels. Default 1280 × 800. */
  display?: { width: number; height: number }
  /** The size of the page in pixels. Screenshots and coordinates are scaled to `display`. Default: as `display`. */
  viewport?: { width: number; height: number }
  /** Default: `CHROMIUM_PATH`, or the first Chromium in `PATH`. */
  executablePath?: string
  /** Chromium's own sandbox. Default: on. For root Chromium has none: it is off, and a warning is logged. */
  sandbox?: boolean
  /** How many sessions may have a browser at the same time. The one unused for longest is closed. Default 8. */
  contexts?: number
  /** A browser that is not used for this long is closed. Default 10 minutes. */
  idleMs?: number
  /** How long a page may take to load, and an action to have its effect. Default 15,000. */
  settleMs?: number
  /** Whether a click that submits a form asks a person first. Default true. */
  askBeforeSubmit?: boolean
  /** Other actions that need a person's permission. */
  askBefore?: AskBefore
  /**
   * Where files that pages offer are saved, once a person has allowed it. `maxBytes`: of one file, default 100 MB. Absent:
   * downloads are refused.
   */
  downloads?: { folder: string; maxBytes?: number }
  /** CSS selectors of elements that pictures and texts of a page never show. Password fields are never shown. */
  mask?: readonly string[]
  /** The version of Anthropic's computer tool that its models are given. Default `computer_20251124`. */
  anthropicType?: 'computer_20250124' | 'computer_20251124' | 'computer_toolset_20260801'
  /** Default: `process.emitWarning`. */
  onWarning?: (message: string) => void
}

type Optional = 'hosts' | 'home' | 'executablePath' | 'sandbox'
export type BrowserSettings = Required<Omit<BrowserOptions, Optional | 'downloads'>> &
  Pick<BrowserOptions, Optional> & { downloads: { folder: string; maxBytes: number } | undefined }

export function checkBrowserOptions(options: BrowserOptions): BrowserSettings {
  const { display = { width: 1280, height: 800 }, hosts, home } = options
  const settings = {
    contexts: 8,
    idleMs: 10 * 60_000,
    settleMs: 15_000,
    askBeforeSubmit: true,
    askBefore: {},
    mask: [],
    anthropicType: 'computer_20251124' as const,
    onWarning: (message: string) => process.emitWarning(message, 'BrowserWarning'),
    ...options,
    display,
    viewport: options.viewport ?? display,
    downloads: options.downloads && { maxBytes: 100_000_000, ...options.downloads },
  }
  for (const host of hosts ?? [])
    if (!isHostPattern(host))
      refuseOption(`hosts has ${JSON.stringify(host)}, which is no host such as "*.example.com".`)
  if (home !== undefined && !isPageAddress(home)) refuseOption('home must be an http or https address.')
  for (const size of [settings.display, settings.viewport])
    for (const pixels of [size.width, size.height])
      if (!Number.isSafeInteger(pixels) || pixels < 100 || pixels > 8_000)
        refuseOption('display and viewport have whole numbers from 100 to 8000.')
  const aspectRatio = ({ width, height }: { width: number; height: number }): number => width / height
  if (Math.abs(aspectRatio(settings.display) / aspectRatio(settings.viewport) - 1) > 0.01)
    refuseOption(
      'display and viewport must have the same shape: one width and height times a number give the other.',
    )
  for (const selector of settings.mask)
    if (typeof selector !== 'string' || selector.trim() === '') refuseOption('mask must list CSS selectors.')
  const { matching = [] } = settings.askBefore
  if (!matching.every(each => each instanceof RegExp))
    refuseOption('askBefore.matching must list regular expressions, such as [/archive/i].')
  const { folder, maxBytes = 1 } = settings.downloads ?? { folder: '.' }
  if (typeof folder !== 'string' || folder.trim() === '' || !Number.isSafeInteger(maxBytes) || maxBytes < 1)
    refuseOption('downloads must be like { folder: "downloads", maxBytes: 100000000 }.')
  for (const name of ['contexts', 'idleMs', 'settleMs'] as const)
    if (!Number.isSafeInteger(settings[name]) || settings[name] < 1)
      refuseOption(`${name} must be a whole number above 0.`)
  return settings
}

export function isPageAddress(address: string): boolean {
  const protocol = URL.parse(address)?.protocol
  return protocol === 'http:' || protocol === 'https:'
}

function refuseOption(problem: string): never {
  throw new TurnwireError('config_invalid', `browser(): ${problem}`)
}
