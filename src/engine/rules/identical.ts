// How often a turn has called a tool with the same arguments, whatever their spelling. Counting begins only for a tool that
// was called as often as a turn may repeat itself; most tools never are.
import type { CallForm } from '../../language/calls.ts'
import { canonicalJson, parseJson } from '../../lib/json/index.ts'
import type { HiddenText } from './state.ts'

type Counts = { upTo: number; byText: Map<string, number> }

/** The counts of one turn. */
export class IdenticalCalls {
  readonly #byTool = new Map<string, Counts>()

  /** `texts`: the arguments that the tool was called with in this turn so far; the list only grows. */
  uses(
    tool: string,
    texts: readonly (string | HiddenText)[],
    text: string,
    form: CallForm,
    open: (hidden: HiddenText) => string,
  ): number {
    const counts = this.#byTool.get(tool) ?? { upTo: 0, byText: new Map<string, number>() }
    this.#byTool.set(tool, counts)
    for (; counts.upTo < texts.length; counts.upTo++) {
      const given = texts[counts.upTo]!
      const canonical = canonicalText(typeof given === 'string' ? given : open(given), form)
      counts.byText.set(canonical, (counts.byText.get(canonical) ?? 0) + 1)
    }
    return counts.byText.get(canonicalText(text, form)) ?? 0
  }
}

function canonicalText(text: string, form: CallForm): string {
  if (form === 'text') return text
  try {
    return text.trim() === '' ? '{}' : canonicalJson(parseJson(text))
  } catch {
    // The gate accepts more than this parser: such texts are compared as they are.
    return text
  }
}
