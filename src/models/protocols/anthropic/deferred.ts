// Deferred tools as Anthropic has them: declared with `defer_loading`, they are no part of the prompt until a result refers
// to them. So declaring one more of them leaves the prompt cache valid. The vendor's own search is a tool that it hosts.
import type { JsonObject } from '../../../lib/json/index.ts'
import type { OfferRequest } from '../../common/prepare.ts'
import type { ModelTarget } from '../../protocol.ts'
import { noDeferredTools } from './failure.ts'

/** These came out before tools could be deferred. */
const WITHOUT_DEFERRED = /claude-(?:2|3|instant)/

const VENDOR_SEARCH = { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' }

export function takesDeferred(target: ModelTarget): boolean {
  return !target.quirks.has(noDeferredTools) && !WITHOUT_DEFERRED.test(target.model)
}

const isSearch = ({ type }: JsonObject): boolean =>
  typeof type === 'string' && type.startsWith('tool_search_tool_')

/** With the vendor's search among the hosted tools, if the request asks for it. */
export function withSearch(request: OfferRequest, target: ModelTarget): ModelTarget {
  if (!takesDeferred(target))
    return target.hosted.some(isSearch)
      ? { ...target, hosted: target.hosted.filter(tool => !isSearch(tool)) }
      : target
  if (!request.vendorSearch || target.hosted.some(isSearch)) return target
  return { ...target, hosted: [...target.hosted, VENDOR_SEARCH] }
}
