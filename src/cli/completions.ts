// Scripts that complete the command in a shell: its subcommands, and the options of each. They are made from the same table
// as the help.
import type { CliCommand } from './command.ts'

type Words = { name: string; summary: string; options: readonly string[]; actions: readonly string[] }

export const shells = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof shells)[number]

export function completionScript(
  shell: Shell,
  commands: readonly { command: CliCommand; summary: string }[],
): string {
  const words = commands.map(({ command, summary }): Words => {
    const options = [...Object.keys(command.options), 'help'].map(name => `--${name}`)
    return { name: command.name, summary, options, actions: listActions(command.usage) }
  })
  return scripts[shell](words)
}

/** Words of the usage that are typed as they stand: `add <name> | list`. */
function listActions(usage: string): string[] {
  const [places = ''] = usage.replaceAll(/\[--[^\]]*\]/g, '').split('[--')
  return places
    .split('|')
    .map(place => place.replaceAll(/[[\]]/g, '').trim().split(/\s+/)[0] ?? '')
    .filter(word => /^[a-z]+$/.test(word) && usage.includes('|'))
}

const scripts: Record<Shell, (words: readonly Words[]) => string> = {
  bash: words => `# turnwire: completion for bash. Put this line into ~/.bashrc: source <(turnwire completions bash)
_turnwire() {
  local word="\${COMP_WORDS[COMP_CWORD]}" words
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="${words.map(({ name }) => name).join(' ')} help"
  else
    case "\${COMP_WORDS[1]}" in
${words.map(({ name, options, actions }) => `      ${name}) words="${[...actions, ...options].join(' ')}" ;;`).join('\n')}
      help) words="${words.map(({ name }) => name).join(' ')}" ;;
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _turnwire turnwire
`,
  zsh: words => `#compdef turnwire
# turnwire: completion for zsh. Put this line into ~/.zshrc, after compinit: source <(turnwire completions zsh)
_turnwire() {
  local -a commands
  commands=(
${words.map(({ name, summary }) => `    ${quoted(`${name}:${summary}`)}`).join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe 'command' commands
    return
  fi
  case "$words[2]" in
${words.map(({ name, options, actions }) => `    ${name}) compadd -- ${[...actions, ...options].join(' ')} ;;`).join('\n')}
  esac
  _files
}
compdef _turnwire turnwire
`,
  fish: words => `# turnwire: completion for fish. Run: turnwire completions fish > ~/.config/fish/completions/turnwire.fish
${words
  .flatMap(({ name, summary, options, actions }) => [
    `complete -c turnwire -n __fish_use_subcommand -a ${name} -d ${quoted(summary)}`,
    ...actions.map(action => `complete -c turnwire -n '__fish_seen_subcommand_from ${name}' -a ${action}`),
    ...options.map(
      option => `complete -c turnwire -n '__fish_seen_subcommand_from ${name}' -l ${option.slice(2)}`,
    ),
  ])
  .join('\n')}
`,
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
