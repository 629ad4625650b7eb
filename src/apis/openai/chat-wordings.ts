// How Chat Completions says that the parameters of a request, or its messages, do not fit together. Words only: the wire judges
// what is wrong, and the double judges it apart from the wire.
import type { ParameterProblem } from './wordings.ts'

const problem = (message: string, param: string, code: string | null = null): ParameterProblem => ({
  message,
  param,
  code,
})

export const twoTokenLimits = problem(
  "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported. Please use only one of them.",
  'max_tokens',
  'invalid_parameter_combination',
)
export const optionsWithoutStream = problem(
  "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
  'stream_options',
)
export const onlyWithTools = (name: string): ParameterProblem =>
  problem(`Invalid value for '${name}': '${name}' is only allowed when 'tools' are specified.`, name)
export const noSuchTool = (type: string, name: string): ParameterProblem =>
  problem(
    `Invalid value for 'tool_choice': no ${type} named '${name}' was specified in the 'tools' parameter.`,
    'tool_choice',
  )

// The vendor writes the paths of messages with a dot before the index in these.

const inMessage = (at: number, member: string, message: string): ParameterProblem =>
  problem(message, `messages.[${at}].${member}`)

export const emptyAnswer = (at: number): ParameterProblem =>
  inMessage(at, 'content', "Invalid value for 'content': expected a string, got null.")
export const unanswered = (at: number, ids: Iterable<string>): ParameterProblem =>
  inMessage(
    at,
    'role',
    `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${[...ids].join(', ')}`,
  )
export const noCallsBefore = (at: number): ParameterProblem =>
  inMessage(
    at,
    'role',
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
  )
export const noCallId = (at: number): ParameterProblem =>
  inMessage(
    at,
    'tool_call_id',
    "Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'.",
  )
export const unknownCallId = (at: number, id: string): ParameterProblem =>
  inMessage(
    at,
    'tool_call_id',
    `Invalid parameter: 'tool_call_id' of '${id}' not found in 'tool_calls' of previous message.`,
  )
export const secondResult = (at: number, id: string): ParameterProblem =>
  inMessage(at, 'tool_call_id', `Duplicate value for 'tool_call_id' of '${id}' in message[${at}].`)
