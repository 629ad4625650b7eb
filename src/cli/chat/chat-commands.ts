// The commands of the conversation, as /help lists them.
export const chatCommands: readonly [string, string][] = [
  ['/new', 'start a new session'],
  ['/history', 'what was said so far'],
  ['/sessions', 'the latest sessions'],
  ['/use <id>', 'go on with one of them'],
  ['/tools', 'what the agent can use'],
  ['/model [name]', 'the models, or go on with one of them'],
  ['/resources', 'what the servers of the agent have to attach'],
  ['/attach <uri>', 'send one of them with the next message'],
  ['/prompts', 'the prompts of the servers: say one with /server:name'],
  ['/quit', 'leave (or Ctrl-C, Ctrl-D)'],
]
