import { Controller, Get, Headers, NotFoundException, Param, Res, UseGuards } from '@nestjs/common';
import { join } from 'node:path';
import { AdminGuard } from '../identity/admin.guard';
import { readPageFiles } from './page-files';

interface Reply {
  code(status: number): Reply;
  headers(values: Record<string, string>): Reply;
  send(body?: Buffer): Reply;
}

/** Headers of a request for a file. */
type FileHeaders = Readonly<Partial<Record<'if-none-match' | 'accept-encoding', string>>>;

/** Headers of all files. With this policy, pages load nothing from other origins and run no inline scripts. */
const HEADERS = {
  'content-security-policy':
    "default-src 'self'; object-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
  vary: 'accept-encoding',
  'referrer-policy': 'no-referrer',
  // Browsers ask for each file again and get 304 if it is the same, so a new release is seen at once.
  'cache-control': 'no-cache',
};

/** The visitors' page, the operator's page, and their scripts and styles. */
@Controller()
export class PagesController {
  private readonly files = readPageFiles(join(__dirname, 'public'));

  @Get()
  visitor(@Res() reply: Reply, @Headers() headers: FileHeaders): void {
    this.send(reply, 'visitor.html', headers);
  }

  /** Sends the operator's page, to anybody. The routes that the page calls need the admin token. */
  @Get('operator')
  operator(@Res() reply: Reply, @Headers() headers: FileHeaders): void {
    this.send(reply, 'operator.html', headers);
  }

  /** Responds with 200 to a request with the admin token. */
  @Get('operator/session')
  @UseGuards(AdminGuard)
  session(@Res() reply: Reply): void {
    reply.code(200).headers({ 'content-type': 'application/json' }).send(Buffer.from('{}'));
  }

  @Get('assets/:name')
  asset(@Param('name') name: string, @Res() reply: Reply, @Headers() headers: FileHeaders): void {
    this.send(reply, name, headers);
  }

  private send(reply: Reply, name: string, headers: FileHeaders): void {
    const file = this.files.get(name);
    if (file === undefined) throw new NotFoundException(`There is no file ${JSON.stringify(name.slice(0, 80))}.`);
    const { bytes, encoding, etag } = file.bodyFor(headers['accept-encoding']);
    reply.headers({ ...HEADERS, 'content-type': file.type, etag });
    if (encoding !== undefined) reply.headers({ 'content-encoding': encoding });
    if (headers['if-none-match'] === etag) reply.code(304).send();
    else reply.send(bytes);
  }
}
