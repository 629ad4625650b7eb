// The vendor's envelope around anything that went wrong, before an answer or in the middle of one.
import { TurnwireError } from '../../language/errors.ts'
import type { Failure } from '../http/index.ts'
import { ChatRefusal, type ErrorBody } from './refuse.ts'

export class ModelNotFound extends TurnwireError {
  constructor(name: string) {
    super('not_found', `The model \`${name.slice(0, 128)}\` does not exist or you do not have access to it.`)
  }
}

export function errorBody(error: unknown, { code, message, status }: Failure): ErrorBody {
  if (error instanceof ChatRefusal)
    return { error: { message, type: 'invalid_request_error', param: error.param, code: error.reason } }
  if (error instanceof ModelNotFound)
    return { error: { message, type: 'invalid_request_error', param: 'model', code: 'model_not_found' } }
  const type = status === 429 ? 'requests' : status < 500 ? 'invalid_request_error' : 'server_error'
  return { error: { message, type, param: null, code } }
}
