// For tests that measure memory or watch what is kept: V8's own collection, without a flag for the whole process.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')

export const collectGarbage = runInNewContext('gc') as () => void // V8's own function.
