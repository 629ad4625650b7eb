// A written set of tools as real agents have them, and questions with the ranks that a search must reach.
import { readFileSync } from 'node:fs'
import type { Tool } from '../../../src/engine/ports/index.ts'
import { tool } from '../../../src/tools/index.ts'

function rowsOf(file: string): string[][] {
  return readFileSync(new URL(file, import.meta.url), 'utf8')
    .split('\n')
    .filter(line => line !== '' && !line.startsWith('#'))
    .map(line => line.split('|').map(cell => cell.trim()))
}

/** Each says its name when it is called. */
export function writtenTools(settings: Partial<Pick<Tool, 'trust' | 'readOnly'>> = {}): Tool[] {
  return rowsOf('./tools.txt').map(([name = '', description = '', parameters = '']) =>
    tool({
      name,
      description,
      input: {
        type: 'object',
        properties: Object.fromEntries(parameters.split(' ').map(each => [each, { type: 'string' }])),
      },
      trust: 'trusted',
      ...settings,
      run: () => `${name} ran`,
    }),
  )
}

export const questions = rowsOf('./queries.txt').map(([question = '', wanted = '', within = '1']) => ({
  question,
  wanted,
  within: Number(within),
}))
