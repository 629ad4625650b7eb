// Deferred tools: which of them a model is declared. A tool that a search found stays declared, at the place that it
// got, so that requests only ever grow at their end and a vendor's prompt cache stays valid. Pure.
//
// The log records the loaded tools: the outcome of the search names them, or the answer in which the vendor's own
// search found them. So they stay loaded after a restart, with another vendor, and after a summary of the history.
import type { Ask } from '../../language/events.ts'
import type { Entry } from '../../language/history.ts'
import type { ToolDeclaration } from '../../language/tools.ts'
import type { Agent, Model } from '../ports/index.ts'
import { pickDeclaration } from './describe.ts'
import type { Offer, Offered } from './offer.ts'

/** So many found tools are declared. When there are more, the oldest half leaves at once, so that this is rare. */
const most = 96
const leaving = most / 2

/** Those that are still declared. */
export function window(loaded: readonly string[], room = most): readonly string[] {
  if (loaded.length <= room) return loaded
  const step = room === most ? leaving : 1
  return loaded.slice(Math.ceil((loaded.length - room) / step) * step)
}

/** Adds what was found. A tool that has left is added again. */
export function load(loaded: string[], found: readonly string[]): void {
  for (const name of found) if (!window(loaded).includes(name)) loaded.push(name)
}

export function loadFrom(loaded: string[], entries: readonly Entry[]): void {
  for (const entry of entries) {
    if (entry.role !== 'tool') continue
    for (const { outcome } of entry.results) if (outcome.loads) load(loaded, outcome.loads)
  }
}

export type Declared = { tools: ToolDeclaration[]; vendorSearch?: true }

export type Deferral = {
  loaded: readonly string[]
  /** The vendor searches the deferred tools. */
  byVendor: boolean
  /** The client asked for the vendor's search, which this model has not: all of its tools are declared. */
  allOfClient: boolean
  /** Every call of this tool would be denied. */
  isDenied: (tool: Offered) => boolean
  /** How many tools a request may hold. */
  mostTools?: number | undefined
}

/** How deferred tools are searched with this model. */
export function chooseSearch(
  { search }: Pick<Agent, 'search'>,
  ask: Pick<Ask, 'vendorSearch' | 'clientOnly'> | undefined,
  model: Pick<Model, 'searchesTools' | 'mostTools'>,
): Pick<Deferral, 'byVendor' | 'allOfClient' | 'mostTools'> {
  const isWanted = ask?.vendorSearch === true || (search?.byVendor === true && ask?.clientOnly !== true)
  const byVendor = isWanted && model.searchesTools === true
  return { byVendor, allOfClient: !byVendor && ask?.vendorSearch === true, mostTools: model.mostTools }
}

/** The tools of an offer that a model is declared: those that are always declared, then the found ones. */
export function chooseDeclared(offer: Offer, deferral: Deferral): Declared {
  const { always, deferred } = offer
  if (deferred.length === 0) return { tools: offer.declarations }
  const { loaded, byVendor, allOfClient, isDenied, mostTools = Number.POSITIVE_INFINITY } = deferral
  if (byVendor) {
    const own = always.filter(tool => !(tool.finds && tool.side === 'server'))
    const rest = deferred.filter(offered => !isDenied(offered)).map(({ tool }) => asDeferred(tool))
    return { tools: [...own, ...rest], vendorSearch: true }
  }
  const atOnce = allOfClient ? deferred.flatMap(({ side, tool }) => (side === 'client' ? tool : [])) : []
  const found = window(loaded, Math.max(Math.min(most, mostTools - always.length - atOnce.length), 0))
  const tools = found.flatMap(name => {
    const offered = offer.byName.get(name)
    const isWanted = offered?.deferred === true && !(allOfClient && offered.side === 'client')
    return isWanted && !isDenied(offered) ? [asDeferred(offered.tool)] : []
  })
  return { tools: [...always, ...atOnce, ...tools] }
}

/** By tool, which never changes: a request with the same tools has the same objects. */
const marked = new WeakMap<ToolDeclaration, ToolDeclaration>()

function asDeferred(tool: ToolDeclaration): ToolDeclaration {
  let declared = marked.get(tool)
  if (!declared) {
    declared = { ...pickDeclaration(tool), deferred: true }
    marked.set(tool, declared)
  }
  return declared
}
