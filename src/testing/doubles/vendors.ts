/**
 * The list of vendors that have a double, by name, and the doors that take a name instead of a vendor.
 * A new vendor is one line here. Nothing registers itself by being imported.
 */
import { anthropicDouble } from './anthropic/index.ts'
import {
  checkWith,
  type RunningDouble,
  type ServeOptions,
  serveDouble,
  type VendorDouble,
  type VendorName,
} from './double.ts'
import { geminiDouble } from './gemini/index.ts'
import { interactionsDouble } from './interactions/index.ts'
import { openaiChat, openaiCompatible } from './openai-chat/index.ts'
import { openaiResponses } from './openai-responses/index.ts'
import type { Mode, Rejection } from './script.ts'

// Methods compare bivariantly, so each vendor's own memory type fits under `unknown`;
// a vendor only ever gets back the memory that it made itself.
const VENDORS: Record<VendorName, VendorDouble<unknown>> = {
  anthropic: anthropicDouble,
  gemini: geminiDouble,
  'gemini-interactions': interactionsDouble,
  'openai-chat': openaiChat,
  'openai-compatible': openaiCompatible,
  'openai-responses': openaiResponses,
}

export function vendorDouble(name: VendorName): VendorDouble<unknown> {
  const vendor = VENDORS[name]
  if (vendor === undefined) {
    throw new Error(`no double for "${name}": use one of ${Object.keys(VENDORS).join(', ')}`)
  }
  return vendor
}

/** Starts a strict double of one vendor's API. */
export function startDouble(options: ServeOptions & { vendor: VendorName }): Promise<RunningDouble> {
  return serveDouble(vendorDouble(options.vendor), options)
}

/** `model` matters where the model is in the path and not in the body. */
type CheckOptions = { mode?: Mode; memory?: unknown; trustForeign?: boolean; model?: string }

/** The first rule that a request body breaks, or `null`. Pure: for a doctor, or a test without a server. */
export function checkRequest(
  vendor: VendorName,
  body: unknown,
  options: CheckOptions = {},
): Rejection | null {
  return checkRequestAll(vendor, body, options)[0] ?? null
}

/** Every rule that a request body breaks. */
export function checkRequestAll(vendor: VendorName, body: unknown, options: CheckOptions = {}): Rejection[] {
  const route = { kind: 'create', params: { model: options.model ?? '' } }
  return checkWith(vendorDouble(vendor), body, { ...options, route })
}
