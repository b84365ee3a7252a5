import { Controller, Get, NotFoundException, Param } from '@nestjs/common'
import type { Account } from '../../prisma/generated/client.js'
import { PrismaService } from './prisma.service.js'

@Controller('accounts')
export class AccountsController {
  constructor(private readonly prisma: PrismaService) {}

  @Get(':id')
  async balance(@Param('id') id: string): Promise<Account> {
    const account = await this.prisma.account.findUnique({ where: { id } })
    if (!account) throw new NotFoundException(`There is no account ${id}.`)
    return account
  }
}
