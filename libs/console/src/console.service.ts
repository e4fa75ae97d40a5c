import { Logger } from '@nestjs/common';
import type { DiscoveryService } from '@nestjs/core';
import { CONSOLE, messageOf, time } from '../../internal/src';
import type { ActionLog, End } from './action-log';
import type { ActionRequest } from './console.input';
import type {
  Address,
  Done,
  Listing,
  ListQuery,
  Match,
  Preview,
  Section,
  SectionContext,
  Story,
  Summary,
} from './console.types';

/** Function that creates the sections of the page, one for each lib whose module the app imports. */
export type CreateSections = (app: { find(className: string): unknown }, context: SectionContext) => readonly Section[];

/** Injection token of the function that creates the sections. Tests of the console provide their own function. */
export const CREATE_SECTIONS = Symbol('luanest:console-sections');

export const HISTORY = Symbol('luanest:console-history');

/** Reads how many events happened in past minutes, such as tasks that were done. */
export interface History {
  /** Returns the counts of the last `minutes` minutes. The current minute is one of them. */
  read(minutes: number): Promise<readonly unknown[]>;
}

/** Summaries of all sections, read at `atMs` (ms since 1970). */
export interface Overview {
  readonly atMs: number;
  readonly sections: readonly {
    readonly name: string;
    readonly summary?: Summary;
    /** Message of the error if the section could not be read. */
    readonly failed?: string;
  }[];
}

/** Reads pages and runs actions for the controllers of the console. Knows nothing about HTTP. */
export class ConsoleService {
  private readonly logger = new Logger('ConsoleModule');
  private made: readonly Section[] | undefined;

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly create: CreateSections,
    private readonly context: SectionContext,
    private readonly log: ActionLog,
  ) {}

  /** Sections of the modules that the app imports. They are created at the first use, because only then all services of the app exist. */
  get sections(): readonly Section[] {
    return (this.made ??= this.create({ find: (className) => this.provided(className) }, this.context));
  }

  /** Reads the summaries of all sections. If one section fails, the others are still returned. */
  async overview(): Promise<Overview> {
    const sections = await Promise.all(
      this.sections.map(async (section) => {
        const { name } = section;
        try {
          return { name, summary: await section.summary() };
        } catch (error) {
          return { name, failed: messageOf(error) };
        }
      }),
    );
    return { atMs: time.nowMs(), sections };
  }

  /** Reads one page of a list. Returns undefined if the console has no such section. */
  async list(address: Address, query: ListQuery): Promise<Listing | undefined> {
    return this.sectionOf(address)?.list(address, query);
  }

  /** Reads all details of one item. Returns undefined if the console has no such item. */
  async show(address: Address): Promise<Story | undefined> {
    return this.sectionOf(address)?.show(address);
  }

  /** Searches all sections for an id. The property `failed` has the names of the sections whose search failed. */
  async find(id: string): Promise<{ readonly matches: readonly Match[]; readonly failed: readonly string[] }> {
    const failed: string[] = [];
    const found = await Promise.all(
      this.sections.map((section) =>
        section.find(id).catch((error: unknown) => {
          this.logger.warn(
            `The search of the console left out the section ${section.name}, because a call failed: ${messageOf(error)}`,
          );
          failed.push(section.name);
          return [];
        }),
      ),
    );
    return { matches: found.flat(), failed };
  }

  /** Returns what an action would change, without running it. */
  preview({ section, action, target, input }: ActionRequest): Promise<Preview> {
    return section.preview(action, target, input);
  }

  /**
   * Runs an action. Writes the action to the log before it runs, and the result after it has run.
   *
   * @throws the error of the action, after it was written to the log; the error of the log if the entry could not be written, and the
   *   action then does not run
   */
  async act(actor: string, { section, action, target, input, expected }: ActionRequest): Promise<Done> {
    const end = await this.log.begin({ actor, section: section.name, action, target, input });
    try {
      const done = await section.run(action, target, input, expected);
      await this.write(end, { result: done.refused ? 'refused' : 'done', ...done });
      return done;
    } catch (error) {
      await this.write(end, { result: 'failed', message: messageOf(error) });
      throw error;
    }
  }

  /** Writes the result of an action to the log. Only warns if that fails, so that the caller still gets the result. */
  private async write(end: (end: End) => Promise<unknown>, result: End): Promise<void> {
    try {
      await end(result);
    } catch (error) {
      this.logger.warn(
        `An action of an operator was run, but its result could not be added to the log of actions: ${messageOf(error)}`,
      );
    }
  }

  private sectionOf([name]: Address): Section | undefined {
    return this.sections.find((section) => section.name === name);
  }

  private provided(className: string): unknown {
    return this.discovery.getProviders().find(({ instance }) => nameOf(instance) === className)?.instance;
  }
}

/** Returns the name by which the console finds a service of luanest. See DECISIONS.md: services-by-name */
function nameOf(instance: unknown): unknown {
  if (typeof instance !== 'object' || instance === null) return undefined;
  return (instance.constructor as { [CONSOLE]?: string } | undefined)?.[CONSOLE];
}
