import type { AnyScript, ScriptReply } from '../script-definition';
import type { CommandArg } from '../connection/port';
import { formsOf, type LoadableScript, type LoneScript } from '../lua/forms';
import { ReplyDecodeError } from '../script-registry.errors';
import { scriptError } from './settle';
import type { Call } from './call';
import { alike, pushAll, pushColumns } from './columns';
import { CallEncoder } from './call-encoder';
import { asText, untag } from './reply-text';

/**
 * A script that is ready to run. It has up to two forms, which are Lua bodies for Redis: one for a call that is sent alone, and
 * one for a group of calls. It encodes calls to commands and decodes the replies.
 */
export class CompiledScript {
  private readonly singleForm: LoneScript;
  private readonly groupForm: LoadableScript | undefined;
  readonly maxCalls: number;
  readonly maxChars: number;
  private readonly slices: boolean;
  private readonly encoder: CallEncoder;
  private readonly keyIndexes: readonly number[];
  /** Indexes of the arguments that are declared without `common`. */
  private readonly ownArgs: readonly number[];
  /** Indexes of the arguments that are declared with `common`. */
  private readonly commonArgs: readonly number[];

  constructor(
    readonly definition: AnyScript,
    grouping: boolean,
    private readonly stringNumbers: boolean,
  ) {
    const { group } = definition;
    this.encoder = new CallEncoder(definition);
    const { shape } = this.encoder;
    this.keyIndexes = Array.from({ length: shape.fixedKeys }, (_, i) => i);
    const indexes = (wanted: boolean) => shape.fixedArgs.flatMap((common, i) => (common === wanted ? [i] : []));
    [this.ownArgs, this.commonArgs] = [indexes(false), indexes(true)];
    const forms = formsOf(definition, shape, group !== false, stringNumbers);
    this.slices = forms.slices;
    // There are two forms, because a call sent alone does not need the loop of a group. See DECISIONS.md: two-forms-per-script
    this.singleForm = forms.single;
    const grouped = grouping && group !== false && forms.group !== undefined;
    this.maxCalls = grouped ? group.maxCalls : 1;
    this.maxChars = group === false ? 1 : group.maxChars;
    this.groupForm = this.maxCalls > 1 ? forms.group : undefined;
  }

  get forms(): LoadableScript[] {
    return [this.singleForm, this.groupForm].filter((form) => form !== undefined);
  }

  get name(): string {
    return this.definition.name;
  }

  /** Checks and encodes the keys and arguments of a call, and stores them in it. @throws InvalidCallError, CrossSlotError */
  encode(call: Call, keys: Readonly<Record<string, unknown>>, args: Readonly<Record<string, unknown>>): void {
    this.encoder.encode(call, keys, args);
  }

  /** Replaces line numbers of a form in an error message by line numbers of the script. */
  readonly inScript = (message: string): string => this.singleForm.lines.inScript(message);

  formFor(calls: number): LoadableScript {
    return calls === 1 ? this.singleForm : (this.groupForm as LoadableScript);
  }

  /** Returns the arguments of the EVALSHA or EVAL that runs these calls. @param head SHA1 hash or body of the form */
  command(head: string, calls: readonly Call[]): CommandArg[] {
    if (calls.length === 1) {
      const { keys, args } = calls[0] as Call;
      return [head, String(keys.length), ...keys, ...args];
    }
    const command: CommandArg[] = [head, ''];
    if (this.slices) this.pushSlices(command, calls);
    else this.pushColumns(command, calls);
    return command;
  }

  private pushSlices(command: CommandArg[], calls: readonly Call[]): void {
    for (const { keys } of calls) pushAll(command, keys);
    command[1] = String(command.length - 2);
    command.push(String(calls.length));
    for (const { keys, args } of calls) command.push(String(keys.length), String(args.length));
    for (const { args } of calls) pushAll(command, args);
  }

  private pushColumns(command: CommandArg[], calls: readonly Call[]): void {
    const { keyIndexes, ownArgs, commonArgs } = this;
    const count = calls.length;
    pushColumns(command, calls, 'keys', keyIndexes, alike(calls, 'keys', keyIndexes) ? 1 : count);
    command[1] = String(command.length - 2);
    command.push(String(count));
    const commons = alike(calls, 'args', commonArgs) ? 1 : count;
    if (commonArgs.length > 0) command.push(String(commons));
    pushColumns(command, calls, 'args', ownArgs, alike(calls, 'args', ownArgs) ? 1 : count);
    pushColumns(command, calls, 'args', commonArgs, commons);
  }

  /** Splits the reply to `command` into the replies of the calls, and settles each call. */
  settle(replied: unknown, calls: readonly Call[], fail: (call: Call, error: Error) => void): void {
    const raw = this.definition.replyBytes ? replied : asText(replied);
    if (calls.length === 1) this.settleSingle(raw, calls[0] as Call, fail);
    else this.settleGroup(Array.isArray(raw) ? (raw as ScriptReply[]) : [], calls, fail);
  }

  private settleSingle(raw: unknown, call: Call, fail: (call: Call, error: Error) => void): void {
    let reply = raw as ScriptReply;
    let atUs = NaN;
    const { plain } = this.singleForm;
    if (Array.isArray(reply)) {
      if (this.definition.timed) atUs = Number(plain ? reply.shift() : reply.pop());
      if (!plain && typeof reply[0] !== 'number') {
        const [mark, value = null] = reply as [string | Buffer, ScriptReply?];
        if (String(mark) === 'e') return fail(call, scriptError(this, String(value)));
        reply = String(mark) === 'n' ? null : this.stringNumbers ? untag(value) : value;
      }
    } else if (plain && (typeof reply === 'string' || Buffer.isBuffer(reply)))
      return fail(call, scriptError(this, String(reply).slice(1)));
    const problem = call.resolve(reply, atUs);
    if (problem) fail(call, problem);
  }

  /** Decodes the reply of `groupedForm`. The Lua of `recordLua` makes this reply. */
  private settleGroup(
    values: readonly ScriptReply[],
    calls: readonly Call[],
    fail: (call: Call, error: Error) => void,
  ): void {
    const [arityText = '', marks = '', time = 'NaN'] = String(values[0] ?? '').split(':');
    const [arity, atUs] = [Number(arityText), Number(time)];
    let at = 1;
    for (let i = 0; i < calls.length; i++) {
      const call = calls[i] as Call;
      const mark = marks === '' ? '.' : marks[i];
      const size = mark === 'n' ? 0 : mark === '.' && arity > 0 ? arity : 1;
      if (arityText === '' || mark === undefined || at + size > values.length) {
        const seen = `${values.length} values for ${calls.length} calls`;
        fail(
          call,
          new ReplyDecodeError(
            `${this.name} ran, but the reply of its group is incomplete (${seen}), so the result is lost.`,
          ),
        );
        continue;
      }
      if (mark === 'e') fail(call, scriptError(this, String(values[at])));
      else {
        const value = mark === 'n' ? null : arity > 0 && mark === '.' ? values.slice(at, at + arity) : values[at];
        const problem = call.resolve(this.stringNumbers ? untag(value as ScriptReply) : (value as ScriptReply), atUs);
        if (problem) fail(call, problem);
      }
      at += size;
    }
  }
}
