// Checks of single settings of a configuration. `wrong` takes the setting's key and what to do.
import { wordsOf } from '../language/errors.ts'
import { checkKinds, checkKnown, isRecord } from '../lib/checks/fields.ts'
import { checkDeclaredSchema } from '../lib/schema/declared.ts'
import { describeSchema } from '../lib/schema/standard.ts'
import { checkCodeLimits, defaultCodeName } from '../tools/index.ts'

type Wrong = (key: string, words: string) => void

export function checkAnswer(answer: unknown, key: string, wrong: Wrong): void {
  if (answer === undefined) return
  try {
    checkDeclaredSchema(describeSchema(answer).json)
  } catch (error) {
    wrong(key, wordsOf(error))
  }
}

/** `tools`: the names of the agent's tools. */
export function checkCode(code: unknown, tools: unknown, key: string, wrong: Wrong): void {
  if (code === undefined || typeof code === 'boolean') {
    if (code === true) checkCodeName(defaultCodeName, tools, key, wrong)
    return
  }
  if (!isRecord(code)) {
    wrong(key, 'must be true, or an object such as { only: true, limits: { timeMs: 10000 } }.')
    return
  }
  checkKnown(code, ['name', 'tools', 'limits', 'trust', 'exposed', 'only'], `${key}.`, wrong)
  const { name = defaultCodeName, tools: callable, limits, only } = code
  checkKinds(code, { name: 'string', exposed: 'boolean' }, `${key}.`, wrong)
  checkCodeName(name, tools, `${key}.name`, wrong)
  const isNames = (value: unknown): boolean =>
    Array.isArray(value) && value.every(each => typeof each === 'string')
  if (callable !== undefined && !isNames(callable)) wrong(`${key}.tools`, 'must be a list of names of tools.')
  if (only !== undefined && only !== true && !isNames(only))
    wrong(`${key}.only`, 'must be true, or a list of names of tools.')
  try {
    checkCodeLimits(isRecord(limits) ? limits : {})
  } catch (error) {
    wrong(`${key}.limits`, wordsOf(error))
  }
}

function checkCodeName(name: unknown, tools: unknown, key: string, wrong: Wrong): void {
  const isTaken = Array.isArray(tools) && tools.some(tool => isRecord(tool) && tool['name'] === name)
  if (isTaken) wrong(key, `"${String(name)}" is the name of a tool. Give programs another: code: { name }.`)
}
