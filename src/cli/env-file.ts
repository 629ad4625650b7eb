// Variables of a file `.env` beside the configuration. What the environment has already stays as it is. Without a configuration nothing is
// read: the file is then another program's, and may name its database.
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { loadEnvFile } from 'node:process'
import { TurnwireError, wordsOf } from '../language/errors.ts'

export function loadEnvBeside(configFile: string): void {
  const file = join(dirname(configFile), '.env')
  if (!existsSync(file)) return
  try {
    loadEnvFile(file)
  } catch (cause) {
    throw new TurnwireError('config_invalid', `${file} cannot be read: ${wordsOf(cause)}`, { cause })
  }
}
