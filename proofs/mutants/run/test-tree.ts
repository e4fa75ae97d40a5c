import { bind } from 'jest-each';
import { expect } from 'expect';
import { ModuleMocker } from 'jest-mock';

type Step = () => unknown;

export interface Block {
  readonly name: string;
  readonly parent: Block | undefined;
  readonly hooks: Readonly<Record<'beforeAll' | 'afterAll' | 'beforeEach' | 'afterEach', Step[]>>;
}

export interface Test {
  /** Path of the file, and names of the blocks and of the test. */
  readonly id: string;
  readonly block: Block;
  readonly run: Step;
}

export const mocker = new ModuleMocker(globalThis);

/** Collects the tests of files: it defines the globals of Jest, which the files call when they are loaded. */
export class TestTree {
  readonly tests: Test[] = [];
  private block: Block | undefined;
  private file = '';

  install(): void {
    const describe = (name: unknown, fill: () => void): void => {
      this.within(String(name), fill);
    };
    const it = (name: string, run: Step): void => this.add(name, run);
    const skipped = (): void => undefined;
    const each = Object.assign(bind(it as never), {});
    // Each suite names the servers that it runs on. There are no clusters here.
    const eachBlock = (rows: readonly unknown[], ...rest: unknown[]) =>
      (bind(describe as never) as (...args: unknown[]) => unknown)(
        Array.isArray(rows) && !('raw' in rows)
          ? rows.filter((row) => !/cluster/i.test(String([row].flat()[0])))
          : rows,
        ...rest,
      );
    const test = Object.assign(it, { each, skip: Object.assign(skipped, { each: () => skipped }), only: it });
    Object.assign(globalThis, {
      describe: Object.assign(describe, { each: eachBlock, skip: Object.assign(skipped, { each: () => skipped }) }),
      it: test,
      test,
      expect,
      jest: {
        fn: mocker.fn.bind(mocker),
        spyOn: mocker.spyOn.bind(mocker),
        restoreAllMocks: () => mocker.restoreAllMocks(),
        clearAllMocks: () => mocker.clearAllMocks(),
        setTimeout: skipped,
      },
    });
    for (const hook of ['beforeAll', 'afterAll', 'beforeEach', 'afterEach'] as const) {
      Object.assign(globalThis, { [hook]: (step: Step) => this.block?.hooks[hook].push(step) });
    }
  }

  /** Loads a file. */
  load(file: string, require: (path: string) => unknown): void {
    this.file = file;
    this.within(file, () => void require(file));
  }

  private within(name: string, fill: () => void): void {
    const outer = this.block;
    this.block = { name, parent: outer, hooks: { beforeAll: [], afterAll: [], beforeEach: [], afterEach: [] } };
    try {
      fill();
    } finally {
      this.block = outer;
    }
  }

  private add(name: string, run: Step): void {
    const names: string[] = [name];
    for (let block = this.block; block?.parent !== undefined; block = block.parent) names.unshift(block.name);
    this.tests.push({ id: `${this.file}: ${names.join(' > ')}`, block: this.block as Block, run });
  }
}
