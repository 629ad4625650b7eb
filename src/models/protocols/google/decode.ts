// The reading that the answers of both of Google's APIs have in common.

import type { CallForm } from '../../../language/calls.ts'
import type { Origin } from '../../../language/content.ts'
import type { ToolDeclaration } from '../../../language/tools.ts'
import { textToolNames } from '../../common/tool-declarations.ts'
import type { BoundTool } from '../../common/vendor-typed.ts'
import type { WireNames } from '../../common/wire-names.ts'

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

export function googleReading(
  { tools, parallel }: { tools: readonly ToolDeclaration[]; parallel: boolean },
  names: WireNames,
  origin: Origin,
  bound: readonly BoundTool[],
): GoogleReading {
  return {
    origin,
    names: names.fromWire,
    textTools: textToolNames(tools, names),
    ...(bound.length > 0 && { bound }),
    single: !parallel,
  }
}

/** Models sometimes prefix a name with the namespace that they see their tools in. */
export function readGoogleTool(
  { names, textTools }: GoogleReading,
  wire: string,
): { name: string; form: CallForm } {
  const bare = wire.replace(/^default_api[.:]/, '')
  return {
    name: names.get(wire) ?? names.get(bare) ?? wire,
    form: textTools.has(wire) || textTools.has(bare) ? 'text' : 'json',
  }
}
