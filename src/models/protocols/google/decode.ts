// The reading that the answers of both of Google's APIs have in common.

import type { CallForm } from '../../../language/calls.ts'
import type { Origin } from '../../../language/content.ts'
import { isJsonObject } from '../../../lib/json/index.ts'
import { CallArguments } from '../../common/answer.ts'
import { readJson } from '../../common/json-read.ts'
import { type BoundTool, boundTo, type VendorTyped } from '../../common/vendor-typed.ts'

export type GoogleReading = {
  origin: Origin
  /** Wire name → our name. */
  names: ReadonlyMap<string, string>
  /** Wire names of the text tools, which were declared as functions of one string. */
  textTools: ReadonlySet<string>
  /** Our tools that were declared in the vendor's form. */
  bound?: readonly BoundTool[]
  /** Only the first call is taken: neither API has a switch for one call at a time. */
  single: boolean
}

/** `typed`: the call is of a function that the vendor defines. */
export type CalledTool = { wire: string; name: string; form: CallForm; typed?: VendorTyped }

/** Models sometimes prefix a name with the namespace that they see their tools in. */
export function calledTool({ names, textTools, bound = [] }: GoogleReading, wire: string): CalledTool {
  const own = names.has(wire) ? undefined : boundTo(bound, { name: wire })
  if (own) return { wire, name: own.tool.name, form: own.typed.form, typed: own.typed }
  const bare = wire.replace(/^default_api[.:]/, '')
  return {
    wire,
    name: names.get(wire) ?? names.get(bare) ?? wire,
    form: textTools.has(wire) || textTools.has(bare) ? 'text' : 'json',
  }
}

/** Arguments of the vendor's function become those of our tool. The gate refuses arguments that are no object. */
export function callArguments({ wire, form, typed }: CalledTool): CallArguments {
  if (typed?.read === undefined) return new CallArguments(form)
  return new CallArguments(form, false, raw => {
    const args = readJson(raw)
    return (isJsonObject(args) && typed.read?.({ name: wire, args })) || raw
  })
}
