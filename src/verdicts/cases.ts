// A table of calls and the verdicts that are expected of them, read from a file in YAML or JSON. It is checked whole before anything
// is judged. How the cases are judged is in judge-cases.ts.
import { DataFile } from '../config/data-file.ts'
import type { SupposedStep } from '../engine/index.ts'
import { outcomeKinds } from '../language/calls.ts'
import { verdictWords } from '../language/policy.ts'
import {
  anything,
  type Check,
  filled,
  group,
  isRecord,
  matches,
  must,
  onOff,
  type SettingChecks,
  text,
  type Wrong,
} from '../lib/checks/fields.ts'
import type { Json } from '../lib/json/index.ts'

/** `invalid`: the arguments do not fit the tool, so that no rule is asked. */
const caseVerdicts = [...verdictWords, 'invalid'] as const
export type CaseVerdict = (typeof caseVerdicts)[number]

export type Expected = {
  verdict: CaseVerdict
  rule?: string
  /** A part of it. */
  reason?: string
  /** Whether each argument has a warrant, for an agent with flow control. */
  warranted?: boolean
}

export type PolicyCase = {
  name: string
  /** Absent: the first of the configuration. */
  agent?: string
  owner: string
  tool: string
  input: Json
  history: readonly SupposedStep[]
  /** Where its arguments came from. Absent: flow control finds it in the history. */
  flow?: { warranted: boolean; tainted?: boolean }
  expect: Expected
}

type WrittenStep = Partial<{
  said: string
  tool: string
  args: Json
  outcome: string
  result: string
  by: string
}>
type WrittenCase = {
  name?: string
  agent?: string
  owner?: string
  tool: string
  args?: Json
  history?: WrittenStep[]
  flow?: { warranted: boolean; tainted?: boolean }
  expect: CaseVerdict | Expected
}
type WrittenCases = { agent?: string; owner?: string; cases: WrittenCase[] }

const defaultOwner = 'local'
const verdict = must(
  value => caseVerdicts.some(word => word === value),
  `must be one of: ${caseVerdicts.join(', ')}.`,
)

const expectedChecks: SettingChecks<Expected> = {
  verdict: { needed: verdict },
  rule: filled,
  reason: filled,
  warranted: onOff,
}
const expected = group(expectedChecks, 'must be a verdict, or an object such as { verdict: deny, rule: … }.')

const stepChecks: SettingChecks<WrittenStep> = {
  said: filled,
  tool: filled,
  args: anything,
  outcome: must(
    value => outcomeKinds.some(kind => kind === value),
    `must be one of: ${outcomeKinds.join(', ')}.`,
  ),
  result: text,
  by: filled,
}
const stepMembers = group(stepChecks, 'must be { said } or { tool, args, outcome, result, by }.')
const step: Check = (value, key, wrong) => {
  stepMembers(value, key, wrong)
  if (!isRecord(value)) return
  const { said, tool, ...rest } = value
  if ((said === undefined) === (tool === undefined) || (said !== undefined && Object.keys(rest).length > 0))
    wrong(key, 'must have either "said" alone, or "tool" with "args", "outcome", "result" and "by".')
}

const flowChecks: SettingChecks<NonNullable<WrittenCase['flow']>> = {
  warranted: { needed: onOff },
  tainted: onOff,
}

const caseChecks: SettingChecks<WrittenCase> = {
  name: filled,
  agent: filled,
  owner: filled,
  tool: { needed: matches(/./s, 'must name the tool that is called.') },
  args: must(
    value => isRecord(value) || typeof value === 'string',
    'must be an object, or a text for a tool that takes free text.',
  ),
  history: nonEmptyList(step, 'must be a list of earlier calls.'),
  flow: group(flowChecks, 'must be an object such as { warranted: false }.'),
  expect: {
    needed: (value, key, wrong) => (isRecord(value) ? expected : verdict)(value, key, wrong),
  },
}

const fileChecks: SettingChecks<WrittenCases> = {
  agent: filled,
  owner: filled,
  cases: {
    needed: nonEmptyList(
      group(caseChecks, 'must be an object such as { tool, args, expect }.'),
      'must be a list of at least one case, such as { tool, args, expect }.',
    ),
  },
}

function nonEmptyList(check: Check, words: string): Check {
  return (value, key, wrong) => {
    if (!Array.isArray(value) || value.length === 0) return wrong(key, words)
    for (const [index, each] of value.entries()) check(each, `${key}[${index}]`, wrong)
  }
}

/** `file`: for messages. Throws `config_invalid` with the line of the first mistake. */
export function parseCases(source: string, file: string): PolicyCase[] {
  const data = new DataFile(source, file)
  const given: unknown = Array.isArray(data.value) ? { cases: data.value } : data.value
  const isList = given !== data.value
  const refuse: Wrong = (key, words) => {
    const path = key.split(/[.[\]]+/).filter(part => part !== '')
    const places = path.map(part => (/^\d+$/.test(part) ? Number(part) : part))
    throw data.wrong(isList ? places.slice(1) : places, `${key === '' ? 'The file' : key} ${words}`)
  }
  group(fileChecks, 'must hold a list of cases, or { agent, owner, cases }.')(given, '', refuse)
  const { cases, ...shared } = given as WrittenCases // As was checked.
  const read = cases.map((each, index) => readCase({ ...shared, ...each }, index))
  for (const [index, { name }] of read.entries())
    if (read.findIndex(other => other.name === name) < index)
      refuse(`cases[${index}].name`, `must be its own: ${JSON.stringify(name)} is taken.`)
  return read
}

function readCase(
  { name, owner = defaultOwner, args = {}, history = [], expect, ...rest }: WrittenCase,
  index: number,
): PolicyCase {
  return {
    ...rest,
    name: name ?? `${index + 1}. ${rest.tool}`,
    owner,
    input: args,
    history: history.map(readStep),
    expect: typeof expect === 'string' ? { verdict: expect } : expect,
  }
}

function readStep({ args, ...rest }: WrittenStep): SupposedStep {
  return { ...rest, ...(args !== undefined && { input: args }) } as SupposedStep // As was checked.
}
