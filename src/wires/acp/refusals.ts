// Every error that this wire answers with, and its words. The words of a defect are not among them: a client only learns
// that the server failed.
import { RequestError } from '@agentclientprotocol/sdk'
import { type ErrorCode, publicError } from '../../language/errors.ts'

const invalidRequest = -32600
const invalidParams = -32602
const internalError = -32603
const authRequired = -32000
const notFound = -32002

const rpcCodes: Partial<Record<ErrorCode, number>> = {
  busy: invalidRequest,
  controlled: invalidRequest,
  unauthorized: authRequired,
  session_not_found: notFound,
  not_found: notFound,
}

/** The protocol's error for anything that was thrown. */
export function encodeFailure(error: unknown): RequestError {
  if (error instanceof RequestError) return error
  const { code, message, status } = publicError(error)
  const rpc = rpcCodes[code] ?? (status >= 400 && status < 500 ? invalidParams : internalError)
  return new RequestError(rpc, message, { code })
}

export function isInternal({ code }: RequestError): boolean {
  return code === internalError
}

const wrong = (message: string, data?: Record<string, unknown>): RequestError =>
  new RequestError(invalidParams, message, data)

const joinChoices = (values: readonly string[] | undefined): string => values?.join(', ') ?? ''

export const refusal = {
  busy: () =>
    new RequestError(
      invalidRequest,
      'A prompt is being answered in this session. Wait for it, or cancel it.',
    ),
  notInitialized: () => wrong('The connection is not initialized.'),
  unknownSession: (sessionId: string) =>
    new RequestError(notFound, 'There is no such session.', { sessionId }),
  otherFolder: (cwd: string) =>
    wrong('This session belongs to another folder: open it with the cwd that it was made with.', { cwd }),
  notCancellable: (id: string) => wrong('There is no running call or terminal of this id.', { id }),
  relativePath: (name: string) => wrong(`${name} must be an absolute path.`),
  replayFrom: (type: string) => wrong(`There is no replay from "${type}", only from "start".`),

  keyMissing: (words: string) => new RequestError(authRequired, words),
  authMethod: (id: string) => wrong(`There is no authentication method "${id}".`),

  emptyPrompt: () => wrong('The prompt is empty: send at least one block with something in it.'),
  images: () => wrong('This agent takes no images.'),
  audio: () => wrong('This agent takes no audio.'),
  mimeType: (given: string) =>
    wrong(`The mimeType ${JSON.stringify(given.slice(0, 80))} does not fit its block.`),
  base64: () => wrong('The data of a block must be base64.'),
  failedTurn: (error: { code: string; message: string } | undefined) =>
    new RequestError(internalError, error?.message ?? 'The turn failed.', {
      code: error?.code ?? 'internal',
    }),

  commandServer: () => wrong('MCP servers that are commands cannot be named over this connection.'),
  relativeCommand: (name: string) =>
    wrong(`The command of the MCP server "${name}" must be an absolute path.`),
  serverType: (type: string) =>
    wrong(`MCP servers of the type "${type}" cannot be named over this connection.`),
  unknownServerType: (type: string) => wrong(`MCP servers of the type "${type}" are not known.`),

  noOption: (id: string) => wrong(`There is no option "${id}".`),
  optionType: (id: string) => wrong(`The option "${id}" takes a text.`),
  optionValue: (id: string, values: readonly string[] | undefined) =>
    wrong(`The option "${id}" takes one of: ${joinChoices(values)}.`),
  noModes: () => wrong('This agent has no modes.'),
}
