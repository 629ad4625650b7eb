// Makes a case of a recorded session: its messages, its results as stubs, and its calls and questions as what is expected.
import { joinText } from '../language/content.ts'
import type { Event } from '../language/events.ts'
import type { EvalCase } from './evals.ts'
import { readInput } from './play.ts'
import type { StubAnswer } from './stubs.ts'

export type RecordedCase = EvalCase & { tools: Record<string, StubAnswer[]> }

export function caseFromLog(name: string, events: readonly Event[]): RecordedCase {
  const prompts: string[] = []
  const tools: Record<string, StubAnswer[]> = {}
  const calls = new Map<string, { tool: string; input: unknown }>()
  const asks: string[] = []
  const expected: NonNullable<EvalCase['expect']['calls']>[number][] = []
  for (const event of events) {
    if (event.type === 'turn.started') prompts.push(joinText(event.parts))
    else if (event.type === 'model.answered')
      for (const part of event.parts)
        if (part.type === 'call') calls.set(part.id, { tool: part.name, input: readInput(part.text) })
    const call = 'callId' in event ? calls.get(event.callId) : undefined
    if (!call) continue
    if (event.type === 'approval.requested') asks.push(call.tool)
    else if (event.type === 'call.settled') {
      const { kind, parts, structured, from } = event.outcome
      expected.push({ tool: call.tool, input: call.input, outcome: kind })
      if (from.source !== 'tool') continue
      const words = joinText(parts)
      const answer: StubAnswer = kind === 'ok' ? { returns: structured ?? words } : { throws: words }
      tools[call.tool] ??= []
      tools[call.tool]?.push({ when: call.input, ...answer })
    }
  }
  return {
    name,
    prompt: prompts.filter(prompt => prompt !== ''),
    tools,
    expect: { calls: expected, only: true, asks },
  }
}

/** A file of evaluations with these cases. */
export function evalFile(agent: string, cases: readonly EvalCase[]): string {
  const body = JSON.stringify({ agent, cases }, null, 2)
  return `import { defineEvals } from 'turnwire/testing'\n\nexport default defineEvals(${body})\n`
}
