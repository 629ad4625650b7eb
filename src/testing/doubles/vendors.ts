// The vendors that have a double, by name, and the functions that take a name instead of a vendor.
// A new vendor is one line here. Nothing registers itself by being imported.
import { anthropicDouble } from './anthropic/index.ts'
import {
  type AnyDouble,
  checkWith,
  type MemoryOptions,
  type RunningDouble,
  type ServeOptions,
  serveDouble,
  type VendorName,
} from './double.ts'
import { geminiDouble } from './gemini/index.ts'
import { interactionsDouble } from './interactions/index.ts'
import { openaiChatDouble, openaiCompatibleDouble } from './openai-chat/index.ts'
import { openaiResponsesDouble } from './openai-responses/index.ts'
import type { Mode, Rejection } from './script.ts'

const VENDORS: Record<VendorName, AnyDouble> = {
  anthropic: anthropicDouble,
  gemini: geminiDouble,
  'gemini-interactions': interactionsDouble,
  'openai-chat': openaiChatDouble,
  'openai-compatible': openaiCompatibleDouble,
  'openai-responses': openaiResponsesDouble,
}

export function vendorDouble(name: VendorName): AnyDouble {
  const vendor = VENDORS[name]
  if (vendor !== undefined) return vendor
  throw new Error(`no double for "${name}": use one of ${Object.keys(VENDORS).join(', ')}`)
}

/** Starts a strict double of one vendor's API. */
export function startDouble(options: ServeOptions & { vendor: VendorName }): Promise<RunningDouble> {
  return serveDouble(vendorDouble(options.vendor), options)
}

/** `model` matters where the model is in the path and not in the body. */
type CheckOptions = MemoryOptions & { mode?: Mode; memory?: unknown; model?: string }

/** The first rule that a request body breaks, or `null`. It needs no server. */
export function checkRequest(name: VendorName, body: unknown, options?: CheckOptions): Rejection | null {
  return checkRequestAll(name, body, options)[0] ?? null
}

/** Every rule that a request body breaks. */
export function checkRequestAll(name: VendorName, body: unknown, options: CheckOptions = {}): Rejection[] {
  const route = { kind: 'create', params: { model: options.model ?? '' } }
  return checkWith(vendorDouble(name), body, { ...options, route })
}
