// Which page of a list a request asks for.
import { refuseParameter, unsupportedParameterValue } from '../openai-refusal.ts'
import type { ItemPage } from './encode-input.ts'

export function decodePage({ limit = '20', order = 'desc', after }: Record<string, string>): ItemPage {
  const most = /^\d{1,3}$/.test(limit) ? Number(limit) : 0
  if (most < 1 || most > 100) refuseParameter("Invalid 'limit': expected a number from 1 to 100.", 'limit')
  if (order !== 'asc' && order !== 'desc') throw unsupportedParameterValue('order', order, ['asc', 'desc'])
  return { limit: most, order, after }
}
