// Requests of programs that nobody here wrote, as they sent them: Claude Code, Gemini CLI and opencode. Long texts are cut, and all but
// two of the tools are left out. The name of the model is put in by the check.
import type { JsonObject } from '../lib/json/index.ts'

type RecordedRequest = { headers: Record<string, string>; body: JsonObject }

export const recorded: Record<'claudeCode' | 'geminiCli' | 'opencode', RecordedRequest> = {
  claudeCode: {
    headers: {
      accept: 'application/json',
      'user-agent': 'claude-cli/2.1.325 (external, sdk-cli)',
      'anthropic-beta':
        'claude-code-20250219,interleaved-thinking-2025-05-14,context-management-2025-06-27,mid-conversation-tool-changes-2026-07-01,thinking-token-count-2026-05-13,advanced-tool-use-2025-11-20,effort-2025-11-24',
      'x-app': 'cli',
    },
    body: {
      messages: [
        {
          role: 'user',
          content: [
            {
              type: 'text',
              text: '<system-reminder>\nAttribution for git co…',
            },
            {
              type: 'text',
              text: 'Run a command and tell me what it says.',
            },
          ],
        },
        {
          role: 'system',
          content: [
            {
              type: 'text',
              text: '# Environment\nYou have been invoked in t…',
              cache_control: {
                type: 'ephemeral',
              },
            },
          ],
        },
      ],
      system: [
        {
          type: 'text',
          text: 'x-anthropic-billing-header: cc_version=2…',
        },
        {
          type: 'text',
          text: 'You are a Claude agent, built on Anthrop…',
          cache_control: {
            type: 'ephemeral',
          },
        },
        {
          type: 'text',
          text: '\nYou are an agent working with the user …',
          cache_control: {
            type: 'ephemeral',
          },
        },
      ],
      tools: [
        {
          name: 'Agent',
          description: 'Launch a new agent to handle complex, mu…',
          input_schema: {
            $schema: 'https://json-schema.org/draft/2020-12/schema',
            type: 'object',
            properties: {
              description: {
                description: 'A short (3-5 word) description of the ta…',
                type: 'string',
              },
              prompt: {
                description: 'The task for the agent to perform',
                type: 'string',
              },
              subagent_type: {
                description: 'The type of specialized agent to use for…',
                type: 'string',
              },
              model: {
                description: 'Optional model override for this agent. …',
                type: 'string',
                enum: ['sonnet', 'opus', 'haiku', 'fable'],
              },
              effort: {
                description: 'Reasoning effort for this agent. Set thi…',
                type: 'string',
                enum: ['low', 'medium', 'high', 'xhigh', 'max'],
              },
              run_in_background: {
                description: 'Agents run in the background by default;…',
                type: 'boolean',
              },
              isolation: {
                description: 'Isolation mode. "worktree" creates a tem…',
                type: 'string',
                enum: ['worktree', 'remote'],
              },
            },
            required: ['description', 'prompt'],
            additionalProperties: false,
          },
        },
        {
          name: 'Bash',
          description: 'Executes a bash command and returns its …',
          input_schema: {
            $schema: 'https://json-schema.org/draft/2020-12/schema',
            type: 'object',
            properties: {
              command: {
                description: 'The command to execute',
                type: 'string',
              },
              timeout: {
                description: 'Optional timeout in milliseconds (max 60…',
                type: 'number',
              },
              description: {
                description: 'Clear, concise description of what this …',
                type: 'string',
              },
              run_in_background: {
                description: 'Set to true to run this command in the b…',
                type: 'boolean',
              },
              dangerouslyDisableSandbox: {
                description: 'Set this to true to dangerously override…',
                type: 'boolean',
              },
            },
            required: ['command'],
            additionalProperties: false,
          },
        },
      ],
      metadata: {
        user_id: 'user',
      },
      max_tokens: 32000,
      thinking: {
        type: 'adaptive',
        display: 'omitted',
      },
      context_management: {
        edits: [
          {
            type: 'clear_thinking_20251015',
            keep: 'all',
          },
        ],
      },
      output_config: {
        effort: 'high',
      },
      stream: true,
    },
  },
  geminiCli: {
    headers: {
      'user-agent': 'GeminiCLI-tui/0.61.0/gemini-3.1-pro-preview (linux; x64; terminal)',
      'x-goog-api-client': 'google-genai-sdk/1.30.0 gl-node/v24.21.0',
      accept: '*/*',
    },
    body: {
      contents: [
        {
          parts: [
            {
              text: '<session_context>\nThis is the Gemini CLI…',
            },
            {
              text: 'Run a command and tell me what it says.',
            },
          ],
          role: 'user',
        },
      ],
      systemInstruction: {
        parts: [
          {
            text: 'You are Gemini CLI, an autonomous CLI ag…',
          },
        ],
        role: 'user',
      },
      tools: [
        {
          functionDeclarations: [
            {
              name: 'update_topic',
              description: 'Manages your narrative flow. Include `ti…',
              parametersJsonSchema: {
                type: 'object',
                properties: {
                  title: {
                    type: 'string',
                    description: 'The title of the new topic or chapter.',
                  },
                  summary: {
                    type: 'string',
                    description: '(OPTIONAL) A detailed summary (5-10 sent…',
                  },
                  strategic_intent: {
                    type: 'string',
                    description: 'A mandatory one-sentence statement of yo…',
                  },
                  wait_for_previous: {
                    type: 'boolean',
                    description: 'Set to true to wait for all previously r…',
                  },
                },
                required: ['strategic_intent'],
              },
            },
            {
              name: 'list_directory',
              description: 'Lists the names of files and subdirector…',
              parametersJsonSchema: {
                type: 'object',
                properties: {
                  dir_path: {
                    description: 'The path to the directory to list',
                    type: 'string',
                  },
                  ignore: {
                    description: 'List of glob patterns to ignore',
                    items: {
                      type: 'string',
                    },
                    type: 'array',
                  },
                  file_filtering_options: {
                    description: 'Optional: Whether to respect ignore patt…',
                    type: 'object',
                    properties: {
                      respect_git_ignore: {
                        description: 'Optional: Whether to respect .gitignore …',
                        type: 'boolean',
                      },
                      respect_gemini_ignore: {
                        description: 'Optional: Whether to respect .geminiigno…',
                        type: 'boolean',
                      },
                    },
                  },
                },
                required: ['dir_path'],
              },
            },
          ],
        },
      ],
      generationConfig: {
        temperature: 1,
        topP: 0.95,
        topK: 64,
        thinkingConfig: {
          includeThoughts: true,
          thinkingLevel: 'HIGH',
        },
      },
    },
  },
  opencode: {
    headers: {
      'user-agent': 'opencode/1.18.33 ai-sdk/provider-utils/4.0.23 runtime/bun/1.3.14',
      accept: '*/*',
    },
    body: {
      max_tokens: 32000,
      messages: [
        {
          role: 'system',
          content: 'You are opencode, an interactive CLI too…',
        },
        {
          role: 'user',
          content: '"Run a command and tell me what it says.…',
        },
      ],
      tools: [
        {
          type: 'function',
          function: {
            name: 'bash',
            description: 'Executes a given bash command in a persi…',
            parameters: {
              $schema: 'https://json-schema.org/draft/2020-12/schema',
              type: 'object',
              properties: {
                command: {
                  type: 'string',
                  description: 'The command to execute',
                },
                timeout: {
                  minimum: -9007199254740991,
                  exclusiveMinimum: 0,
                  type: 'integer',
                  maximum: 9007199254740991,
                  description: 'Optional timeout in milliseconds',
                },
                workdir: {
                  type: 'string',
                  description: 'The working directory to run the command…',
                },
              },
              required: ['command'],
            },
          },
        },
        {
          type: 'function',
          function: {
            name: 'edit',
            description: 'Performs exact string replacements in fi…',
            parameters: {
              $schema: 'https://json-schema.org/draft/2020-12/schema',
              type: 'object',
              properties: {
                filePath: {
                  type: 'string',
                  description: 'The absolute path to the file to modify',
                },
                oldString: {
                  type: 'string',
                  description: 'The text to replace',
                },
                newString: {
                  type: 'string',
                  description: 'The text to replace it with (must be dif…',
                },
                replaceAll: {
                  type: 'boolean',
                  description: 'Replace all occurrences of oldString (de…',
                },
              },
              required: ['filePath', 'oldString', 'newString'],
            },
          },
        },
      ],
      tool_choice: 'auto',
      stream: true,
      stream_options: {
        include_usage: true,
      },
    },
  },
}
