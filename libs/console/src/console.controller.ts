import {
  BadRequestException,
  Body,
  Controller,
  Get,
  HttpCode,
  Inject,
  NotFoundException,
  Param,
  Post,
  Query,
  Req,
  Res,
  ServiceUnavailableException,
  UseGuards,
  VERSION_NEUTRAL,
  type Type,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { InvalidInputError, LuanestError, shown, time } from '../../internal/src';
import { ActionLog } from './action-log';
import { Assets } from './assets';
import { ConsoleAccess } from './console.access';
import { ConsoleActGuard, ConsoleApiGuard, ConsolePageGuard } from './console.guard';
import { actionRequestOf, addressOf, integerOf, listQueryOf, logCursorOf, neededText } from './console.input';
import { ConsoleService, HISTORY, type History } from './console.service';
import { STREAM_HEADERS } from './headers';
import { LiveOverview, type EventStream } from './live-overview';

type Parameters = Readonly<Record<string, unknown>>;

const LOG_PAGE = 50;
const WEEK_MINUTES = 7 * 24 * 60;

/** Response of Express, or reply of Fastify. */
interface Response {
  /** Response of Node.js. Only Fastify's reply has this property. */
  readonly raw?: NodeResponse;
  /** Stops Fastify from sending a reply, so that the caller can write to `raw`. Only Fastify's reply has this method. */
  hijack?(): void;
}

interface PageRequest {
  readonly originalUrl?: string;
  readonly url: string;
  readonly headers: Parameters;
}

interface NodeResponse extends EventStream {
  writeHead(status: number, headers: Readonly<Record<string, string>>): unknown;
}

/**
 * Base class of the controllers of the console. Sends each reply itself, so that no interceptor of the app can change the reply.
 * See DECISIONS.md: own-replies
 */
abstract class Replies {
  constructor(@Inject(HttpAdapterHost) private readonly host: HttpAdapterHost) {}

  protected send(response: Response, type: string, text: string, status = 200): void {
    const { httpAdapter } = this.host;
    httpAdapter.setHeader(response, 'Content-Type', type);
    httpAdapter.reply(response, text, status);
  }

  protected setHeader(response: Response, name: string, value: string): void {
    this.host.httpAdapter.setHeader(response, name, value);
  }

  /** Sends the result of `work` as JSON. Escapes "<", so that no browser can take the body for HTML. */
  protected async json(response: Response, work: () => unknown): Promise<void> {
    const value = await answer(work);
    this.send(response, 'application/json; charset=utf-8', JSON.stringify(value).replaceAll('<', '\\u003c'));
  }
}

/** HTTP API that the web page of the console calls. */
@UseGuards(ConsoleApiGuard)
export class ConsoleController extends Replies {
  constructor(
    @Inject(HttpAdapterHost) host: HttpAdapterHost,
    @Inject(ConsoleService) private readonly service: ConsoleService,
    @Inject(ConsoleAccess) private readonly access: ConsoleAccess,
    @Inject(ActionLog) private readonly log: ActionLog,
    @Inject(LiveOverview) private readonly live: LiveOverview,
    @Inject(HISTORY) private readonly history: History,
  ) {
    super(host);
  }

  /** Sends the name and the role of the user, the sections, and the token for actions ('' if the user may not run actions). */
  @Get('me')
  me(@Req() request: object, @Res() response: Response): Promise<void> {
    return this.json(response, async () => {
      const actor = this.access.actorOf(request);
      const sections = this.service.sections.map(({ name, lists, actions }) => ({ name, lists, actions }));
      const csrf = this.access.mayAct(actor) ? await this.access.tokenOf(actor) : '';
      return {
        role: actor.role,
        actor: actor.name,
        sections,
        readOnly: this.access.readOnly,
        csrf,
        nowMs: time.nowMs(),
      };
    });
  }

  @Get('overview')
  overview(@Res() response: Response): Promise<void> {
    return this.json(response, () => this.service.overview());
  }

  @Get('list')
  list(@Query() query: Parameters, @Res() response: Response): Promise<void> {
    return this.json(response, async () => {
      const address = addressOf(query);
      return found(address, await this.service.list(address, listQueryOf(query)));
    });
  }

  @Get('show')
  show(@Query() query: Parameters, @Res() response: Response): Promise<void> {
    return this.json(response, async () => {
      const address = addressOf(query);
      return found(address, await this.service.show(address).catch(unknownAddress));
    });
  }

  @Get('find')
  find(@Query() query: Parameters, @Res() response: Response): Promise<void> {
    return this.json(response, () => this.service.find(neededText(query, 'id')));
  }

  /** Sends a page of the log of actions, newest entries first. */
  @Get('log')
  actions(@Query() query: Parameters, @Res() response: Response): Promise<void> {
    return this.json(response, () => this.log.list(logCursorOf(query), LOG_PAGE));
  }

  @Get('history')
  past(@Query() query: Parameters, @Res() response: Response): Promise<void> {
    return this.json(response, async () => {
      const minutes = integerOf(query, 'minutes', WEEK_MINUTES, 60);
      return { series: await this.history.read(minutes) };
    });
  }

  /** Streams server-sent events: the overview every two seconds, and the event `changed` after each action. */
  @Get('live')
  stream(@Res() response: Response): void {
    response.hijack?.();
    const raw = response.raw ?? (response as NodeResponse);
    raw.writeHead(200, STREAM_HEADERS);
    this.live.add(raw);
  }

  /** Sends what an action would change. */
  @Post('preview')
  @HttpCode(200)
  @UseGuards(ConsoleActGuard)
  preview(@Body() body: unknown, @Res() response: Response): Promise<void> {
    return this.json(response, () => this.service.preview(actionRequestOf(body, this.service.sections)));
  }

  /** Runs an action, and sends its result. */
  @Post('act')
  @HttpCode(200)
  @UseGuards(ConsoleActGuard)
  act(@Body() body: unknown, @Req() request: object, @Res() response: Response): Promise<void> {
    return this.json(response, async () => {
      const wanted = actionRequestOf(body, this.service.sections);
      try {
        return await this.service.act(this.access.actorOf(request).name, wanted);
      } finally {
        this.live.changed(wanted.section.name);
      }
    });
  }
}

/** Serves the web page of the console and its files. */
@UseGuards(ConsolePageGuard)
export class ConsolePageController extends Replies {
  constructor(
    @Inject(HttpAdapterHost) host: HttpAdapterHost,
    @Inject(Assets) private readonly assets: Assets,
  ) {
    super(host);
  }

  @Get()
  page(@Req() request: PageRequest, @Res() response: Response): void {
    const [path = '', query] = (request.originalUrl ?? request.url).split('?', 2);
    if (path.endsWith('/')) return this.file(response, 'index.html', request.headers);
    // The page uses relative URLs, so the URL of the page must end in "/". A relative redirect works with every prefix and proxy.
    const [last = ''] = path.split('/').slice(-1);
    this.setHeader(response, 'Location', `${last}/${query === undefined ? '' : `?${query}`}`);
    this.send(response, 'text/plain; charset=utf-8', '', 302);
  }

  @Get('assets/:file')
  asset(@Param('file') name: string, @Req() request: PageRequest, @Res() response: Response): void {
    this.file(response, name, request.headers);
  }

  /** Serves the page on Fastify if the URL ends in "/". The path has two slashes here, because Nest removes one of them. */
  @Get('//')
  pageAtSlash(@Req() request: PageRequest, @Res() response: Response): void {
    this.page(request, response);
  }

  private file(response: Response, name: string, headers: Parameters): void {
    const asset = this.assets.get(name);
    if (asset === undefined) throw new NotFoundException(`The page has no file ${shown(name)}.`);
    this.setHeader(response, 'ETag', asset.etag);
    const isKnown = headers['if-none-match'] === asset.etag;
    this.send(response, asset.type, isKnown ? '' : asset.text, isKnown ? 304 : 200);
  }
}

/** Returns the controllers of a console whose path is `path`. They accept requests with any API version, or with none. */
export function controllersAt(path: string): Type[] {
  class Api extends ConsoleController {}
  class Page extends ConsolePageController {}
  for (const [controller, at] of [[Api, `${path}/api`] as const, [Page, path] as const]) {
    Controller({ path: at, version: VERSION_NEUTRAL })(controller);
    // These routes are not part of the app's API, so @nestjs/swagger must leave them out.
    Reflect.defineMetadata('swagger/apiExcludeController', [true], controller);
  }
  return [Api, Page];
}

/**
 * Returns undefined if `error` says that a section has no item with the requested address; otherwise throws `error`. For undefined, the API
 * replies 404, and the page then requests the same address as a list.
 */
function unknownAddress(error: unknown): undefined {
  if (error instanceof InvalidInputError) return undefined;
  throw error;
}

function found<T>(address: readonly string[], value: T | undefined): T {
  if (value !== undefined) return value;
  throw new NotFoundException(
    `The console found nothing at ${shown(address.join('/'))}. It may have been deleted or have expired.`,
  );
}

/**
 * Calls `work`, and turns errors of luanest into errors with an HTTP status.
 *
 * @throws BadRequestException (400) for invalid input; ServiceUnavailableException (503) for other errors of luanest
 */
async function answer(work: () => unknown): Promise<unknown> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof InvalidInputError) throw new BadRequestException(error.message, { cause: error });
    if (error instanceof LuanestError) throw new ServiceUnavailableException(error.message, { cause: error });
    throw error;
  }
}
