import { type Operation, operation, z } from "./operation.ts";

const SHELLS = ["bash", "zsh", "fish"] as const;

/**
 * Each script asks `midwatch __complete` (doors/cli/complete.ts), which answers with a line that says what else fits here (files, folders
 * or nothing) and a line for each word: the word, a tab, what it means. So a shell never knows more or less than the program.
 */
const SCRIPTS: Readonly<Record<(typeof SHELLS)[number], string>> = {
  bash: `# midwatch: completion for bash
_midwatch() {
  local lines
  mapfile -t lines < <("$1" __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  case \${lines[0]} in
    files) compopt -o default ;;
    folders) compopt -o dirnames ;;
  esac
  COMPREPLY=("\${lines[@]:1}")
  COMPREPLY=("\${COMPREPLY[@]%%$'\\t'*}")
}
complete -F _midwatch midwatch
`,
  zsh: `#compdef midwatch
# midwatch: completion for zsh
_midwatch() {
  local -a lines found
  local line
  lines=("\${(@f)$("\${words[1]}" __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  for line in "\${(@)lines[2,-1]}"; do
    found+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  (( $#found )) && _describe -V midwatch found
  case \${lines[1]} in
    files) _files ;;
    folders) _files -/ ;;
  esac
}
if [[ \${funcstack[1]} == _midwatch ]]; then _midwatch "$@"; else compdef _midwatch midwatch; fi
`,
  fish: `# midwatch: completion for fish
function __midwatch_complete
  set -l words (commandline -opc) (commandline -ct)
  set -l lines ($words[1] __complete $words[2..-1] 2>/dev/null)
  switch "$lines[1]"
    case files
      __fish_complete_path (commandline -ct)
    case folders
      __fish_complete_directories (commandline -ct)
  end
  printf '%s\\n' $lines[2..-1]
end
complete -c midwatch -f -a '(__midwatch_complete)'
`,
};

export const completion: Operation = operation({
  name: "completion",
  summary: "Print the script that lets a shell complete commands, flags, choices and agent ids",
  details: `bash: source <(midwatch completion bash), or put it into ~/.local/share/bash-completion/completions/midwatch
zsh: midwatch completion zsh > a folder of $fpath, as _midwatch
fish: midwatch completion fish > ~/.config/fish/completions/midwatch.fish`,
  positionals: ["shell"],
  input: z.strictObject({ shell: z.enum(SHELLS).describe("The shell that will read it") }),
  changes: false,
  cliOnly: true,
  examples: ["source <(midwatch completion bash)"],
  run: (_context, { shell }) => ({ shell, script: SCRIPTS[shell] }),
  render: ({ script }) => script,
});
