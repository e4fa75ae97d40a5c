/** The parts of a form that are a script's own, in their order. */
type Part = 'shared' | 'source' | 'finish';

/** Line of a form in which the script's own text begins: the `#!lua` line is the first one. */
const FIRST_LINE = 2;

function linesOf(text: string): number {
  return text === '' ? 0 : text.split(/\r\n|\n\r|\r|\n/).length;
}

/** Finds lines of a script in what Redis says of a form, whose lines are the script's, one behind the other. */
export class SourceLines {
  private readonly parts: readonly (readonly [part: Part, from: number, to: number])[];

  constructor(shared: string, source: string, finish: string) {
    const texts = Object.entries({ shared, source, finish }) as [Part, string][];
    let from = FIRST_LINE;
    this.parts = texts.map(([part, text]) => {
      const start = from;
      from += linesOf(text);
      return [part, start, from] as const;
    });
  }

  /**
   * Replaces the lines of the form in an error message by those of the script: `user_script:3:` is line 3 of the source,
   * `shared:3:` and `finish:3:` are of the other two. Positions in the registry's own Lua are left out.
   */
  inScript(message: string): string {
    const text = message.replace(TAIL, (_, line: string) => this.behind(message, Number(line)));
    const [head = '', code = '', positions = ''] = HEAD.exec(text) ?? [];
    const named = positions.replaceAll(/user_script:(\d+): /g, (_, line: string) => {
      const place = this.find(Number(line));
      return place === undefined ? '' : `${nameOf(place.part)}:${place.line}: `;
    });
    const rest = text.slice(head.length);
    return code + named + (code.includes('compiling') ? this.openedAt(rest) : rest);
  }

  /** Redis says at the end where an error was raised; Lua's own errors say so at the beginning, too. */
  private behind(message: string, line: number): string {
    const place = HEAD.test(message) ? undefined : this.find(line);
    return place === undefined ? '' : ` (${nameOf(place.part)}:${place.line})`;
  }

  /** What the compiler says of a block that is not closed. */
  private openedAt(message: string): string {
    return message.replace(/ at line (\d+)\)/, (_, line: string) => {
      const place = this.find(Number(line));
      return place === undefined ? ')' : ` at line ${place.line})`;
    });
  }

  private find(line: number): { part: Part; line: number } | undefined {
    const found = this.parts.find(([, from, to]) => line >= from && line < to);
    return found && { part: found[0], line: line - found[1] + 1 };
  }
}

function nameOf(part: Part): string {
  return part === 'source' ? 'user_script' : part;
}

const HEAD = /^((?:ERR )?(?:Error compiling script \(new function\): )?)((?:user_script:\d+: )+)/;
const TAIL = /(?: script: [0-9a-f]{40})?, on @user_script:(\d+)\.$/;
