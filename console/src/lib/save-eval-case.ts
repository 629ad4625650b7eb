// A session as a file for `turnwire eval`.
import { operator } from './console-state.tsx'
import { saveFile } from './save-file.ts'

export async function saveEvalCase(id: string): Promise<void> {
  const text = await operator.evalCase(id)
  saveFile(new Blob([text], { type: 'text/plain' }), `${id}.eval.ts`)
}
