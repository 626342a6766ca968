autocmd BufNewFile,BufRead *.lf setfiletype lf
